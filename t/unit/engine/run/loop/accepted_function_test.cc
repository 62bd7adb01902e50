// User functions in accepted runs: what the log shows of them while they run, for readers and for
// the next attempt.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../run_fixture.h"
#include "run/hand_over.h"
#include "run/log/log_entry.h"
#include "run/run_request.h"

namespace agent_graph::run {
namespace {

class AcceptedFunctionTest : public RunTest {
 protected:
  AcceptedFunctionTest() {
    state_.before_append = [this](const state::AppendRunRequest& append) {
      appends_.push_back(append);
      return Status::Ok();
    };
  }
  RunRequest Attempt(uint32_t number) {
    RunRequest request = Ask("hi");
    request.accepted =
        AcceptedRun{.attempt = number, .hand_over = std::make_shared<HandOver>(cancellation_)};
    return request;
  }

  std::vector<state::AppendRunRequest> appends_;
};

TEST_F(AcceptedFunctionTest, TheLogNamesEachMessageOfAFunctionBeforeItsFirstPiece) {
  std::vector<std::string> named;  // in the log, when a piece was emitted
  const auto names = [&] {
    std::vector<std::string> ids;
    for (const state::LogEntry& stored : state_.At("t1").log) {
      const std::optional<EntryBody> body = Decode(stored);
      const auto* begun = body ? std::get_if<entry::ModelStarted>(&*body) : nullptr;
      if (begun != nullptr) ids.push_back(begun->message_id);
    }
    return ids;
  };
  sink_.on_event = [&](const RunEvent& event) {
    if (event.kind == RunEvent::Kind::kMessageDelta) named = names();
    return Status::Ok();
  };
  builder_.AddFunction("A", [&](const State&, RunContext& context) -> NodeResult {
    context.EmitText("Let me ");
    EXPECT_EQ(named.size(), 1u);
    context.EmitText("see.");
    EXPECT_EQ(named.size(), 1u);
    context.CallModel({.messages = {Message::User("x")}, .stream = true});
    EXPECT_EQ(named.size(), 2u);
    return Message::Assistant("Let me see.");
  });
  builder_.AddEdge(START, "A");
  model_.script = {{.pieces = {"Three."}}};
  EXPECT_EQ(RunOk(Attempt(1)).status, RunStatus::kDone);
  std::vector<std::string> shown;
  for (const json& delta : sink_.Of(RunEvent::Kind::kMessageDelta)) {
    const std::string id = delta.at("message_id");
    if (shown.empty() || shown.back() != id) shown.push_back(id);
  }
  EXPECT_EQ(shown, named);
}

// Such a run has no further attempt that would have to name its message as void.
TEST_F(AcceptedFunctionTest, TheRunOfAConnectedClientNamesNoMessages) {
  builder_.AddFunction("A", [](const State&, RunContext& context) -> NodeResult {
    context.EmitText("Hi");
    return Message::Assistant("Hi");
  });
  builder_.AddEdge(START, "A");
  RunOk(Ask("hi"));
  EXPECT_EQ(std::ranges::count(state_.Kinds("t1"), "model_started"), 0);
}

// A crash in a function that never waits would otherwise leave no trace.
TEST_F(AcceptedFunctionTest, AFurtherAttemptShowsTheFunctionThatItIsIn) {
  builder_.AddFunction("A", Say("ok"), Execution::kNonBlocking);
  builder_.AddEdge(START, "A");
  RunOk(Attempt(1));
  EXPECT_TRUE(appends_.empty());
  RunRequest second = Attempt(2);
  second.thread_id = "t2";
  RunOk(second);
  ASSERT_FALSE(appends_.empty());
  EXPECT_TRUE(appends_.front().in_user_code);
  EXPECT_EQ(appends_.front().current_node, "A");
}

}  // namespace
}  // namespace agent_graph::run
