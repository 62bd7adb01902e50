// Further attempts of an accepted run.
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include "continuation_fixture.h"
#include "models/call_options.h"

namespace agent_graph::run {
namespace {

using testing::_;

// As after the loss of a worker: what the node had not stored is done again.
TEST_F(ContinuationTest, ARunWhoseStateDoesNotAnswerIsGivenBack) {
  std::atomic<int> calls = 0;
  AddAgentWithTools({MakeTool("add", false, [&](const json&, ToolContext&) -> ToolOutput {
    ++calls;
    return "3";
  })});
  bool answers = false;
  state_.before_append = [&](const state::AppendRunRequest& append) {
    for (const state::LogEntry& entry : append.entries) {
      if (entry.kind == "tool_intent" && !answers) {
        return Status(StatusCode::kUnavailable, "the state service did not answer in time");
      }
    }
    appends_.push_back(append);
    return Status::Ok();
  };
  const ToolCallBlock call{"c1", "add", "{}", false};
  model_.script = {{.calls = {call}}, {.pieces = {"Three."}}};
  EXPECT_TRUE(RunOk(Attempt(1)).left);
  EXPECT_EQ(state_.At("t1").last_status, "handed_over");
  EXPECT_EQ(calls, 0);
  answers = true;
  const RunOutcome second = RunOk(NextAttempt());
  EXPECT_EQ(second.status, RunStatus::kDone);
  EXPECT_EQ(calls, 1);
}

TEST_F(ContinuationTest, ADemandForAToolCallIsNotMadeAgain) {
  AddAgentWithTools({MakeTool("add", false, [&](const json&, ToolContext&) -> ToolOutput {
    hand_over_->Request();
    return "3";
  })});
  model_.script = {{.calls = {{"c1", "add", "{}", false}}}, {.pieces = {"Three."}}};
  const auto options = std::make_shared<models::CallOptions>();
  options->tool_choice = models::CallOptions::ToolChoice::kRequired;
  RunRequest request = Attempt(1);
  request.call_options = options;
  EXPECT_TRUE(RunOk(request).left);
  request = NextAttempt();
  request.call_options = options;
  EXPECT_EQ(RunOk(request).status, RunStatus::kDone);
  ASSERT_EQ(model_.requests.size(), 2u);
  EXPECT_TRUE(model_.requests[0].forces_tool);
  EXPECT_FALSE(model_.requests[1].forces_tool);
}

// If the attempt is lost, a reset can then name the message whose pieces readers have.
TEST_F(ContinuationTest, TheLogNamesAMessageBeforeItsFirstPiece) {
  AddAgentWithTools({});
  model_.script = {{.pieces = {"Three."}}};
  const RunOutcome outcome = RunOk(Attempt(1));
  const std::optional<EntryBody> begun = Decode(appends_.front().entries.back());
  ASSERT_TRUE(begun && std::holds_alternative<entry::ModelStarted>(*begun));
  EXPECT_EQ(std::get<entry::ModelStarted>(*begun).message_id,
            json::parse(outcome.messages_json).back()["message_id"]);
}

TEST_F(ContinuationTest, AnAttemptBehindOneThatStoredNothingBeginsNormally) {
  builder_.AddFunction("A", Say("ok"));
  builder_.AddEdge(START, "A");
  builder_.AddEdge("A", END);
  RunOk(Ask("before"));
  const RunOutcome outcome = RunOk(Attempt(2));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(std::ranges::count(state_.Kinds("t1"), "run_started"), 2);
  ASSERT_EQ(state_.At("t1").state.window.size(), 4u);
  EXPECT_EQ(state_.At("t1").state.window[2].id, "m1");
}

TEST_F(ContinuationTest, OnlyAnAcceptedRunClaimsAGrant) {
  std::vector<bool> granted;
  state_.before_begin = [&](const state::BeginRunRequest& begin) {
    granted.push_back(begin.granted);
    return Status::Ok();
  };
  builder_.AddFunction("A", Say("ok"));
  builder_.AddEdge(START, "A");
  RunOk(Attempt(1));
  RunOk(Ask("and now?"));
  EXPECT_EQ(granted, (std::vector<bool>{true, false}));
}

TEST_F(ContinuationTest, AMessageThatWasDeletedDuringTheRunStaysDeleted) {
  builder_.AddFunction("A", [this](const State&, RunContext&) -> NodeResult {
    hand_over_->Request();
    return Message::Assistant("one");
  });
  builder_.AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B").AddEdge("B", END);
  EXPECT_TRUE(RunOk(Attempt(1)).left);
  auto& window = state_.At("t1").state.window;
  ASSERT_EQ(window.front().id, "m1");
  window.erase(window.begin());
  const RunOutcome second = RunOk(NextAttempt());
  EXPECT_EQ(second.status, RunStatus::kDone);
  ASSERT_EQ(json::parse(second.messages_json).size(), 2u);
  EXPECT_EQ(TextOf(json::parse(second.messages_json)[0]), "one");
}

TEST_F(ContinuationTest, AMessageThatTheLastAttemptDidNotStoreIsAdded) {
  builder_.AddFunction("A", Say("ok"));
  builder_.AddEdge(START, "A");
  DieInTools({}, {});
  auto& window = state_.At("t1").state.window;
  window.erase(window.begin());
  EXPECT_CALL(state_, GetMessage(_, "t1", "m1"))
      .WillOnce(testing::Return(Status(StatusCode::kUnavailable, "no answer")));
  EXPECT_TRUE(RunOk(Attempt(2, "A", 0)).left);
  testing::Mock::VerifyAndClearExpectations(&state_);
  const RunOutcome outcome = RunOk(Attempt(3, "A", 0));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  ASSERT_EQ(json::parse(outcome.messages_json).size(), 3u);  // the call, the question, the answer
  EXPECT_EQ(TextOf(json::parse(outcome.messages_json)[1]), "hi");
}

TEST_F(ContinuationTest, CallsOfANodeThatDiedAreSettledByTheLog) {
  std::mutex mutex;
  std::map<std::string, std::string> keys;
  const auto record = [&](const json&, ToolContext& context) -> ToolOutput {
    std::lock_guard lock(mutex);
    keys[context.call_id()] = context.idempotency_key();
    return "again";
  };
  AddAgentWithTools({MakeTool("pay", false, record), MakeTool("look", true, record)});
  DieInTools(
      {{"c1", "pay", "{}", false},
       {"c2", "pay", "{}", false},
       {"c3", "look", "{}", false},
       {"c4", "pay", "{}", false}},
      {entry::ToolIntent{.call = Ref("c1", "pay"), .idempotency_key = Key(0)},
       entry::ToolIntent{.call = Ref("c2", "pay"), .idempotency_key = Key(1)},
       entry::ToolIntent{.call = Ref("c3", "look"), .idempotency_key = Key(2), .idempotent = true},
       entry::ToolStarted{.call = Ref("c1", "pay"), .micros = 1},
       entry::ToolFinished{.call = Ref("c1", "pay"),
                           .time = entry::CallTime{.finished_micros = 2},
                           .output_json = "\"paid\""}});
  model_.script = {{.pieces = {"Done."}}};
  const RunOutcome outcome = RunOk(Attempt(2, "TOOLS", 1));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  const std::vector<json> results = ToolResults(outcome);
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[0].at("output"), "paid");
  EXPECT_NE(results[1].dump().find("whether it took effect is unknown"), std::string::npos);
  EXPECT_EQ(results[1].at("is_error"), true);
  EXPECT_EQ(results[2].at("output"), "again");
  EXPECT_EQ(results[3].at("output"), "again");  // it was never started
  EXPECT_EQ(keys.size(), 2u);
}

// A function node in a loop may use one id again and again.
TEST_F(ContinuationTest, ACallIsNotSettledByAnEarlierOneWithItsId) {
  std::atomic<int> calls = 0;
  AddAgentWithTools({MakeTool("pay", false, [&](const json&, ToolContext&) -> ToolOutput {
    ++calls;
    return "now";
  })});
  DieInTools({{"c1", "pay", "{}", false}},
             {entry::ToolIntent{.call = Ref("c1", "pay"),
                                .idempotency_key = IdempotencyKey("t1", "m0", 0)},
              entry::ToolFinished{.call = Ref("c1", "pay"), .output_json = "\"before\""}});
  model_.script = {{.pieces = {"Done."}}};
  const RunOutcome outcome = RunOk(Attempt(2, "TOOLS", 1));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(ToolResults(outcome).size(), 1u);
  EXPECT_EQ(ToolResults(outcome)[0].at("output"), "now");
}

TEST_F(ContinuationTest, StepsOfAllAttemptsCount) {
  builder_.AddFunction("A", Say("again"));
  builder_.AddEdge(START, "A");
  builder_.AddEdge("A", "A");
  RunRequest request = Attempt(2, "A", 4);
  request.recursion_limit = 5;
  const RunOutcome outcome = RunOk(request);
  EXPECT_EQ(outcome.error.code(), StatusCode::kRecursionLimit);
  EXPECT_EQ(finished_.append.step, 5);
  EXPECT_EQ(finished_.reason, "RECURSION_LIMIT");
}

TEST_F(ContinuationTest, AGraphWithoutTheNodeEndsTheRun) {
  builder_.AddFunction("A", Say("ok"));
  builder_.AddEdge(START, "A");
  builder_.AddEdge("A", END);
  const RunOutcome outcome = RunOk(Attempt(2, "OLD", 1));
  EXPECT_EQ(outcome.status, RunStatus::kError);
  EXPECT_EQ(outcome.error.code(), StatusCode::kGraph);
  EXPECT_TRUE(outcome.error.message().starts_with("GRAPH_CHANGED"));
  EXPECT_EQ(finished_.reason, "GRAPH_CHANGED");
}

TEST_F(ContinuationTest, AGraphThatDoesNotAcceptTheStateEndsTheRun) {
  builder_.AddField({.name = "total", .schema_json = R"({"type":"integer"})"});
  AddAgentWithTools(
      {MakeTool("look", true, [](const json&, ToolContext&) -> ToolOutput { return "blue"; })});
  DieInTools({}, {});
  const auto outcome_with = [&](const char* fields) {
    finished_ = {};
    auto& thread = state_.At("t1");
    thread.state.snapshot.fields_json = fields;
    thread.log.push_back(
        Encode(entry::RunStarted{.run_id = "r1", .graph = "g", .graph_hash = "other"}, 1));
    model_.script = {{.pieces = {"Done."}}};
    return RunOk(Attempt(2, "MAIN", 1));
  };
  const RunOutcome changed = outcome_with(R"({"total":"three"})");
  EXPECT_EQ(changed.status, RunStatus::kError);
  EXPECT_EQ(changed.error.code(), StatusCode::kGraph);
  EXPECT_EQ(finished_.reason, "GRAPH_CHANGED");
  EXPECT_NE(changed.error.message().find("total"), std::string::npos);
  EXPECT_EQ(outcome_with(R"({"total":3})").status, RunStatus::kDone);
  // The last attempt was one of this graph, which does not check what it has set itself.
  state_.At("t1").state.snapshot.fields_json = R"({"total":"three"})";
  model_.script = {{.pieces = {"Done."}}};
  EXPECT_EQ(RunOk(Attempt(3, "MAIN", 1)).status, RunStatus::kDone);
}

TEST_F(ContinuationTest, AnInterruptBeforeANodeThatWasReachedIsNotAskedAgain) {
  builder_.AddFunction("A", Say("ok"));
  builder_.AddEdge(START, "A");
  builder_.AddEdge("A", END);
  builder_.InterruptBefore({"A"});
  EXPECT_EQ(RunOk(Attempt(2, "A", 0)).status, RunStatus::kDone);
}

TEST_F(ContinuationTest, ARunThatHadReachedItsEndOnlyEnds) {
  builder_.AddFunction("A", Say("ok"));
  builder_.AddEdge(START, "A");
  builder_.AddEdge("A", END);
  const RunOutcome outcome = RunOk(Attempt(2, "END", 1));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(finished_.append.step, 1);
}

TEST_F(ContinuationTest, ALogThatCannotBeReadGivesTheRunBack) {
  builder_.AddFunction("A", Say("ok"));
  builder_.AddEdge(START, "A");
  builder_.AddEdge("A", END);
  EXPECT_CALL(state_, FollowRun(_, _))
      .WillOnce(testing::Return(Status(StatusCode::kUnavailable, "no answer")));
  EXPECT_TRUE(RunOk(Attempt(2, "A", 0)).left);
  EXPECT_EQ(appends_.back().current_node, "A");
}

TEST_F(ContinuationTest, ARefusedRequestEndsTheRunWithItsErrorInTheLog) {
  builder_.AddFunction("A", Say("ok"));
  builder_.AddEdge(START, "A");
  builder_.AddEdge("A", END);
  RunRequest request = Attempt(1);
  request.messages.clear();
  EXPECT_EQ(Run(request).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(state_.Kinds("t1"), (std::vector<std::string>{"run_started", "error", "run_finished"}));
  EXPECT_EQ(finished_.reason, "INVALID_ARGUMENT");
}

TEST_F(ContinuationTest, AppendsSayWhetherUserCodeIsExecuted) {
  builder_.AddAgent("MAIN", {.system_prompt = "Be kind."});
  builder_.AddFunction("A", Say("ok"));
  builder_.AddEdge(START, "MAIN");
  builder_.AddEdge("MAIN", "A");
  builder_.AddEdge("A", END);
  model_.script = {{.pieces = {"Hi."}}};
  RunOk(Ask("hi"));
  ASSERT_EQ(appends_.size(), 2u);
  EXPECT_FALSE(appends_[0].in_user_code);
  EXPECT_TRUE(appends_[1].in_user_code);
}

TEST_F(ContinuationTest, EventsHaveTheirPositionInTheLog) {
  builder_.AddFunction("A", [](const State&, RunContext&) -> NodeResult {
    NodeResult result;
    result.messages = {Message::Assistant("one"), Message::Assistant("two")};
    return result;
  });
  builder_.AddEdge(START, "A");
  builder_.AddEdge("A", END);
  state_.At("t1").log.resize(5);  // entries of an earlier run
  RunOk(Ask("hi"));
  const auto& log = state_.At("t1").log;
  ASSERT_EQ(sink_.events.size(), 2u);
  for (const RunEvent& event : sink_.events) {
    ASSERT_GT(event.log_end, 0u);
    const std::optional<EntryBody> body = Decode(log.at(event.log_end - 1));
    ASSERT_TRUE(body && std::holds_alternative<entry::MessageAdded>(*body));
    EXPECT_EQ(std::get<entry::MessageAdded>(*body).message_id,
              json::parse(event.message_json).at("message_id"));
  }
  EXPECT_LT(sink_.events[0].log_end, sink_.events[1].log_end);
  EXPECT_EQ(sink_.starts.at(0).log_index, 5u);
  EXPECT_EQ(sink_.starts.at(0).lease_epoch, 1u);
}

TEST_F(ContinuationTest, ASinkThatNeedsNoMessagesGetsOnlyTheirPositions) {
  builder_.AddFunction("A", Say("one"));
  builder_.AddEdge(START, "A");
  builder_.AddEdge("A", END);
  sink_.messages = false;
  const RunOutcome outcome = RunOk(Ask("hi"));
  ASSERT_EQ(sink_.events.size(), 1u);
  EXPECT_EQ(sink_.events[0].kind, RunEvent::Kind::kMessage);
  EXPECT_TRUE(sink_.events[0].message_json.empty());
  EXPECT_GT(sink_.events[0].log_end, 0u);
  EXPECT_EQ(json::parse(outcome.messages_json).size(), 2u);
}

}  // namespace
}  // namespace agent_graph::run
