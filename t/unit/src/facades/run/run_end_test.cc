#include "facades/run/run_end.h"

#include <gtest/gtest.h>

namespace agent_graph::facades {
namespace {

TEST(RunEnd, ARunMayWaitForTheClientsToolsOnly) {
  EXPECT_TRUE(WaitsForTools(R"({"data":{"remote_tool_calls":[{"id":"c","name":"f"}]}})"));
  for (const char* other :
       {"", "null", "{}", R"({"data":null})", R"({"data":{"about":"pay"}})",
        R"({"data":{"remote_tool_calls":[{"id":"c"}],"elicitations":[{}]}})",
        R"({"data":{"remote_tool_calls":[{"id":"c"}],"undecided_tool_calls":[{}]}})"}) {
    EXPECT_FALSE(WaitsForTools(other)) << other;
  }
}

TEST(RunEnd, EventsThatEndBeforeTheRunAreAFailure) {
  EXPECT_FALSE(FailureOf({.outcome = run::RunStatus::kDone}));
  EXPECT_EQ(FailureOf({.outcome = run::RunStatus::kError})->message, "the run failed");
  const auto deleted = FailureOf({.outcome = run::RunStatus::kDone, .reason = "deleted"});
  ASSERT_TRUE(deleted);
  EXPECT_EQ(deleted->message, "the thread was deleted");
}

}  // namespace
}  // namespace agent_graph::facades
