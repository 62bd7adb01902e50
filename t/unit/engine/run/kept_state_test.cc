// What a run leaves of its thread.
#include "run_fixture.h"

namespace agent_graph::run {
namespace {

class KeptStateTest : public RunTest {};

TEST_F(KeptStateTest, AThreadThatCannotBeReadIsLeftAsItIs) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  state::ThreadState& stored = state_.At("t1").state;
  stored.window = {{"m1", 1, "not JSON"}};
  stored.snapshot.fields_json = R"({"city":"Rome"})";
  stored.snapshot.summary = "before";
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, "error");
  EXPECT_EQ(stored.snapshot.fields_json, R"({"city":"Rome"})");
  EXPECT_EQ(stored.snapshot.summary, "before");
  EXPECT_EQ(stored.window.size(), 1u);
  stored.window.clear();
  stored.snapshot.fields_json = "[";
  EXPECT_EQ(RunOk(Ask("hi")).error.code(), StatusCode::kDataLoss);
  EXPECT_EQ(stored.snapshot.fields_json, "[");
}

TEST_F(KeptStateTest, ARunSaysWhatItHasChanged) {
  builder_.AddField({.name = "notes", .reducer = Reducer::kAppend});
  builder_.AddField({.name = "city"}).AddField({.name = "idle"});
  builder_.AddFunction(
      "A", [](const State&, RunContext&) -> NodeResult { return NodeResult().Set("notes", "n"); });
  builder_.AddEdge(START, "A");
  state::FinishRun finished;
  state_.before_finish = [&](const state::FinishRun& finish) {
    finished = finish;
    return Status::Ok();
  };
  RunRequest request = Ask("hi");
  request.initial_state_json = R"({"city":"Rome"})";
  RunOk(request);
  EXPECT_EQ(finished.changed_fields, (std::vector<std::string>{"city", "notes"}));
  EXPECT_FALSE(finished.summary_changed);
  EXPECT_FALSE(finished.state_unread);
}

}  // namespace
}  // namespace agent_graph::run
