// How a run handles an existing thread: ids, interrupts, open calls.
#include <set>

#include "../run_fixture.h"
#include "message/codec.h"
#include "state/limits.h"

namespace agent_graph::run {
namespace {

class ThreadTest : public RunTest {
 protected:
  static std::vector<std::string> Ids(const RunOutcome& outcome) {
    std::vector<std::string> ids;
    for (const json& message : json::parse(outcome.messages_json)) {
      ids.push_back(message.at("message_id"));
    }
    return ids;
  }
  static json Meta(const RunOutcome& outcome) {
    return json::parse(outcome.state_json).at("execution_meta");
  }
  void AddThreeNodes() {
    builder_.AddFunction("A", Say("one"));
    builder_.AddFunction("B", Say("two"));
    builder_.AddFunction("C", Say("three"));
    builder_.AddEdge(START, "A").AddEdge("A", "B").AddEdge("B", "C");
  }
};

TEST_F(ThreadTest, EveryMessageOfARequestIsKeptUnderItsOwnId) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  RunRequest request = Ask("one");
  request.messages = {Message::User("a"), Message::User("b"), Message::User("c")};
  request.messages[1].id = "mine";
  request.messages[2].id = "mine";
  RunOutcome outcome = RunOk(request);
  std::vector<std::string> ids = Ids(outcome);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 4u);
  EXPECT_EQ(ids[1], "mine");
  EXPECT_FALSE(ids[0].empty());
}

TEST_F(ThreadTest, AnIdThatTheThreadHasAlreadyIsReplaced) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  RunRequest request = Ask("first");
  request.messages[0].id = "mine";
  RunOk(request);
  state_.hidden_id = "old";
  request.messages = {Message::User("second"), Message::User("third")};
  request.messages[0].id = "mine";
  request.messages[1].id = "old";
  RunOutcome outcome = RunOk(request);
  std::vector<std::string> ids = Ids(outcome);
  ASSERT_EQ(ids.size(), 5u);
  EXPECT_EQ(ids[0], "mine");
  EXPECT_NE(ids[2], "mine");
  EXPECT_NE(ids[3], "old");
}

TEST_F(ThreadTest, AnIdThatIsTooLongIsReplaced) {
  const std::string longest(state::kIdBytesMax, 'x');
  builder_.AddFunction("A", [&](const State&, RunContext&) -> NodeResult {
    Message answer = Message::Assistant("one");
    answer.id = longest + "y";
    return answer;
  });
  builder_.AddEdge(START, "A");
  RunRequest request = Ask("hi");
  request.messages[0].id = longest;
  const std::vector<std::string> ids = Ids(RunOk(request));
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(ids[0], longest);
  EXPECT_LT(ids[1].size(), longest.size());
  EXPECT_FALSE(ids[1].empty());
}

TEST_F(ThreadTest, PausesBeforeANodeAndResumesThere) {
  AddThreeNodes();
  builder_.InterruptBefore({"B"});
  RunOutcome paused = RunOk(Ask("hi"));
  EXPECT_EQ(paused.status, RunStatus::kInterrupted);
  EXPECT_EQ(json::parse(paused.messages_json).size(), 2u);
  json meta = Meta(paused);
  EXPECT_EQ(meta.at("is_interrupted"), true);
  EXPECT_EQ(meta.at("is_running"), false);
  EXPECT_EQ(meta.at("interrupt").at("node"), "B");
  EXPECT_EQ(meta.at("interrupt").at("status"), "interrupted_before");
  EXPECT_EQ(state_.Kinds("t1").end()[-2], "interrupted");

  RunOutcome resumed = RunOk(Ask("go on"));
  EXPECT_EQ(resumed.status, RunStatus::kDone);
  ASSERT_EQ(json::parse(resumed.messages_json).size(), 5u);
  EXPECT_EQ(TextOf(json::parse(resumed.messages_json)[3]), "two");
  EXPECT_FALSE(Meta(resumed).contains("interrupt"));
  EXPECT_EQ(Meta(resumed).at("current_node"), "END");
}

TEST_F(ThreadTest, PausesAfterANodeAndResumesBehindIt) {
  AddThreeNodes();
  builder_.InterruptAfter({"A"});
  RunOutcome paused = RunOk(Ask("hi"));
  EXPECT_EQ(paused.status, RunStatus::kInterrupted);
  EXPECT_EQ(Meta(paused).at("interrupted_node"), "A");
  EXPECT_EQ(sink_.Of(RunEvent::Kind::kMessage).size(), 1u);
  EXPECT_EQ(json::parse(RunOk(Ask("go on")).messages_json).size(), 5u);
}

TEST_F(ThreadTest, APauseBehindTheLastNodeIsFollowedByAFreshStart) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  builder_.InterruptAfter({"A"});
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kInterrupted);
  RunOutcome second = RunOk(Ask("again"));
  EXPECT_EQ(json::parse(second.messages_json).size(), 4u);
}

TEST_F(ThreadTest, ANodeMayPauseTheRunWithData) {
  builder_.AddFunction("A", [](const State&, RunContext&) -> NodeResult {
    NodeResult result;
    result.interrupt = Interrupt{"approve?", R"({"amount":3})"};
    return result;
  });
  builder_.AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B");
  json meta = Meta(RunOk(Ask("hi")));
  EXPECT_EQ(meta.at("interrupt").at("reason"), "approve?");
  EXPECT_EQ(meta.at("interrupt").at("data"), json({{"amount", 3}}));
  EXPECT_EQ(RunOk(Ask("yes")).status, RunStatus::kDone);
}

TEST_F(ThreadTest, AGraphThatLostTheNodeEndsTheRunAndTheInterrupt) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  state_.At("t1").state.snapshot.execution_json =
      R"({"status":"interrupted_before","interrupted_node":"GONE","resume_node":"GONE"})";
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kError);
  EXPECT_EQ(outcome.error.message().rfind("GRAPH_CHANGED", 0), 0u);
  EXPECT_EQ(Meta(outcome).at("is_interrupted"), false);
  EXPECT_EQ(RunOk(Ask("again")).status, RunStatus::kDone);
}

TEST_F(ThreadTest, CallsThatACrashLeftOpenAreClosed) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  Message calling = Message::Assistant("");
  calling.id = "m1";
  calling.content.emplace_back(ToolCallBlock{"c1", "charge", "{}", false});
  state_.At("t1").state.window.push_back({"m1", 1, message::ToJsonText(calling)});
  RunOutcome outcome = RunOk(Ask("hi"));
  ASSERT_EQ(json::parse(outcome.messages_json).size(), 4u);
  json closed = json::parse(outcome.messages_json)[1];
  EXPECT_EQ(closed.at("content").at(0).at("call_id"), "c1");
  EXPECT_EQ(closed.at("content").at(0).at("is_error"), true);
  EXPECT_EQ(json::parse(outcome.messages_json)[2].at("role"), "user");
}

TEST_F(ThreadTest, ACallThatTheRequestAnswersIsNotClosedAndShownOnce) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  Message calling = Message::Assistant("");
  calling.id = "m1";
  calling.content.emplace_back(ToolCallBlock{"c1", "show_map", "{}", false});
  state_.At("t1").state.window.push_back({"m1", 1, message::ToJsonText(calling)});
  RunRequest request = Ask("");
  request.messages = {Message::ToolResult("c1", "\"shown\""), Message::User("look")};
  EXPECT_EQ(json::parse(RunOk(request).messages_json).size(), 4u);
  auto emitted = sink_.Of(RunEvent::Kind::kMessage);
  ASSERT_EQ(emitted.size(), 2u);  // the result (once) and the node's message
  EXPECT_EQ(emitted[0].at("role"), "tool");
  EXPECT_EQ(emitted[1].at("role"), "assistant");
}

TEST_F(ThreadTest, AnAnsweredRemoteCallIsNotReturnedAgain) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  Message calling = Message::Assistant("");
  calling.id = "m1";
  calling.content.emplace_back(ToolCallBlock{"c1", "show_map", "{}", false});
  Message remote;
  remote.id = "m2";
  remote.role = Role::kTool;
  remote.content.emplace_back(ToolCallBlock{"c1", "show_map", "{}", true});
  state_.At("t1").state.window = {{"m1", 1, message::ToJsonText(calling)},
                                  {"m2", 2, message::ToJsonText(remote)}};
  RunRequest request = Ask("");
  request.messages = {Message::ToolResult("c1", "\"shown\"")};
  RunOutcome outcome = RunOk(request);
  EXPECT_EQ(outcome.messages_json.find("remote_tool_call"), std::string::npos);
  EXPECT_EQ(json::parse(outcome.messages_json).size(), 3u);
}

TEST_F(ThreadTest, UnreadableStoredStateIsAClearError) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  state_.At("t1").state.window.push_back({"m1", 1, "{broken"});
  EXPECT_EQ(RunOk(Ask("hi")).error.code(), StatusCode::kDataLoss);
}

TEST_F(ThreadTest, AFinishedRunLeavesNoTraceOfAnEarlierError) {
  bool fail = true;
  builder_.AddFunction("A", [&fail](const State&, RunContext&) -> NodeResult {
    if (fail) throw std::runtime_error("boom");
    return {};
  });
  builder_.AddEdge(START, "A");
  EXPECT_EQ(Meta(RunOk(Ask("hi"))).at("status"), "error");
  fail = false;
  json meta = Meta(RunOk(Ask("again")));
  EXPECT_EQ(meta.at("status"), "completed");
  EXPECT_FALSE(meta.at("internal_data").contains("error"));
  EXPECT_EQ(meta.at("step"), 1);
}

TEST_F(ThreadTest, AFreeIdIsKeptInAnExistingThread) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  RunOk(Ask("first"));
  RunRequest request = Ask("second");
  request.messages[0].id = "fresh";
  const std::vector<std::string> ids = Ids(RunOk(request));
  ASSERT_EQ(ids.size(), 4u);
  EXPECT_EQ(ids[2], "fresh");
}

TEST_F(ThreadTest, AnIdThatNoPathCanNameIsReplaced) {
  builder_.AddFunction("A", [](const State&, RunContext&) -> NodeResult {
    NodeResult result;
    for (const std::string& id : {std::string(".."), std::string("a/../b"), std::string("a\0b", 3),
                                  std::string(" "), std::string("a/b")}) {
      result.messages.push_back(Message::Assistant("x"));
      result.messages.back().id = id;
    }
    return result;
  });
  builder_.AddEdge(START, "A");
  const std::vector<std::string> ids = Ids(RunOk(Ask("hi")));
  ASSERT_EQ(ids.size(), 6u);
  for (size_t i = 1; i < 5; ++i) {
    EXPECT_EQ(ids[i].find_first_of(std::string("./ \0", 4)), std::string::npos) << ids[i];
  }
  EXPECT_EQ(ids[5], "a/b");
}

TEST_F(ThreadTest, AMessageKeepsItsTimeOrGetsOne) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  RunRequest request = Ask("hi");
  request.messages[0].timestamp = 1.5;
  const RunOutcome outcome = RunOk(request);
  EXPECT_EQ(json::parse(outcome.messages_json)[0].at("timestamp"), 1.5);
  EXPECT_GT(json::parse(outcome.messages_json)[1].at("timestamp").get<double>(), 1.5);
}

TEST_F(ThreadTest, ARunPausesAgainAtTheSameNode) {
  builder_.AddFunction("A", Say("one")).AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B").AddEdge("B", "A").InterruptBefore({"B"});
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kInterrupted);
  const RunOutcome outcome = RunOk(Ask("go on"));
  EXPECT_EQ(outcome.status, RunStatus::kInterrupted);
  EXPECT_EQ(Meta(outcome).at("interrupted_node"), "B");
  EXPECT_EQ(json::parse(outcome.messages_json).size(), 5u);
}

TEST_F(ThreadTest, TheLogOfTheLastRunSaysHowAnOpenCallEnded) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  Message calling = Message::Assistant("");
  calling.id = "m1";
  for (const char* id : {"ended", "begun"}) {
    calling.content.emplace_back(ToolCallBlock{id, "charge", "{}", false});
  }
  state_.At("t1").state.window.push_back({"m1", 1, message::ToJsonText(calling)});
  state::ReadRunsRequest asked;
  state::RunTraces traces;
  traces.run_id = "before";
  traces.entries = {{"message", R"({"message_id":"m1","node":"A"})", 1},
                    {"tool_finished", R"({"call_id":"ended","output":"paid"})", 1},
                    {"tool_intent", R"({"call_id":"begun"})", 1}};
  EXPECT_CALL(state_, ReadRuns)
      .WillOnce(testing::DoAll(testing::SaveArg<0>(&asked), testing::Return(traces)));
  RunRequest request = Ask("hi");
  request.scope = state::Scope::Owner("alice");
  const RunOutcome outcome = RunOk(request);
  EXPECT_EQ(asked.thread_id, "t1");
  EXPECT_EQ(asked.scope.user_id, "alice");
  EXPECT_EQ(asked.runs_max, 1u);
  ASSERT_EQ(json::parse(outcome.messages_json).size(), 5u);
  const json ended = json::parse(outcome.messages_json)[1].at("content").at(0);
  EXPECT_EQ(ended.at("output"), "paid");
  EXPECT_EQ(ended.at("is_error"), false);
  EXPECT_EQ(json::parse(outcome.messages_json)[2].at("content").at(0).at("is_error"), true);
}

}  // namespace
}  // namespace agent_graph::run
