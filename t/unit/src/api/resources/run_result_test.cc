// The data of an invoke response.
#include "api/resources/run_result.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::api {
namespace {

json MetaOf(const run::RunOutcome& outcome) {
  return json::parse(InvokeData(outcome, Granularity::kLow))["meta"];
}

TEST(InvokeData, MetaNamesThreadRunAndOutcome) {
  run::RunOutcome outcome;
  outcome.messages_json = "[]";
  outcome.start.thread_id = "t \"1\"";
  outcome.start.run_id = "r1";
  outcome.start.is_new_thread = true;
  EXPECT_EQ(MetaOf(outcome), json({{"is_new_thread", true},
                                   {"thread_id", "t \"1\""},
                                   {"thread_name", nullptr},
                                   {"run_id", "r1"},
                                   {"outcome", "done"}}));
  outcome.start.is_new_thread = false;
  outcome.start.thread_name = "calm river";
  outcome.status = run::RunStatus::kInterrupted;
  outcome.interrupt_json = R"({"node":"N"})";
  EXPECT_EQ(MetaOf(outcome), json({{"is_new_thread", false},
                                   {"thread_id", "t \"1\""},
                                   {"thread_name", "calm river"},
                                   {"run_id", "r1"},
                                   {"outcome", "interrupted"},
                                   {"interrupt", {{"node", "N"}}}}));
}

}  // namespace
}  // namespace agent_graph::api
