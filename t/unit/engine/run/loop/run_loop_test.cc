#include "../run_fixture.h"
#include "state/requests.h"

namespace agent_graph::run {
namespace {

using Kinds = std::vector<std::string>;

class RunLoopTest : public RunTest {};

TEST_F(RunLoopTest, RunsNodesInOrderAndLogsBeforeItEmits) {
  builder_.AddFunction("A", Say("one")).AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B").AddEdge("B", END);
  std::vector<size_t> stored_when_emitted;
  sink_.on_event = [&](const RunEvent&) {
    stored_when_emitted.push_back(state_.At("t1").state.window.size());
    return Status::Ok();
  };
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(state_.Kinds("t1"),
            (Kinds{"run_started", "message", "node_started", "message", "node_finished",
                   "node_started", "message", "node_finished", "run_finished"}));
  EXPECT_EQ(state_.At("t1").places, (Kinds{"A", "B", "END"}));
  EXPECT_EQ(stored_when_emitted, (std::vector<size_t>{2, 3}));
  ASSERT_EQ(json::parse(outcome.messages_json).size(), 3u);
  EXPECT_EQ(TextOf(json::parse(outcome.messages_json)[2]), "two");
  EXPECT_EQ(sink_.events[0].node, "A");
  EXPECT_EQ(sink_.events[1].step, 2);
  ASSERT_EQ(sink_.starts.size(), 1u);
  EXPECT_TRUE(sink_.starts[0].is_new_thread);
}

TEST_F(RunLoopTest, TheUsersMessageIsNotEchoed) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  RunOk(Ask("hi"));
  for (const json& message : sink_.Of(RunEvent::Kind::kMessage)) {
    EXPECT_NE(message.at("role"), "user");
  }
}

TEST_F(RunLoopTest, ASecondRunSeesTheFirst) {
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    return Message::Assistant(std::to_string(state.messages().size()));
  });
  builder_.AddEdge(START, "A");
  RunOk(Ask("hi"));
  RunOutcome second = RunOk(Ask("again"));
  ASSERT_EQ(json::parse(second.messages_json).size(), 4u);
  EXPECT_EQ(TextOf(json::parse(second.messages_json)[3]), "3");
  EXPECT_FALSE(second.start.is_new_thread);
}

TEST_F(RunLoopTest, WorksWithoutAStateService) {
  stored_ = false;
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  RunOutcome outcome = RunOk(Ask("hi", ""));
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(json::parse(outcome.messages_json).size(), 2u);
  EXPECT_FALSE(outcome.start.thread_id.empty());
  EXPECT_TRUE(outcome.start.is_new_thread);
}

TEST_F(RunLoopTest, AMessageCostsNoQuestionAboutTheThread) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  EXPECT_CALL(state_, GetThread).Times(0);
  EXPECT_CALL(state_, GetState).Times(0);
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kDone);
}

TEST_F(RunLoopTest, ALimitOfOneRunsOneNode) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  RunRequest request = Ask("hi");
  request.recursion_limit = 1;
  RunOutcome outcome = RunOk(request);
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_TRUE(outcome.error.ok());
  EXPECT_EQ(sink_.Of(RunEvent::Kind::kMessage).size(), 1u);
}

TEST_F(RunLoopTest, ALimitOfOneRunsNoSecondNode) {
  builder_.AddFunction("A", Say("one")).AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B");
  RunRequest request = Ask("hi");
  request.recursion_limit = 1;
  RunOutcome outcome = RunOk(request);
  EXPECT_EQ(outcome.error.code(), StatusCode::kRecursionLimit);
  EXPECT_EQ(sink_.Of(RunEvent::Kind::kMessage).size(), 1u);
}

TEST_F(RunLoopTest, AStopLetsTheNodeFinishAndStartsNoOther) {
  builder_.AddFunction("A", [this](const State&, RunContext&) -> NodeResult {
    state_.stop_requested = true;
    return Message::Assistant("one");
  });
  builder_.AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B");
  RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kStopped);
  EXPECT_TRUE(outcome.error.ok());
  EXPECT_EQ(sink_.Of(RunEvent::Kind::kMessage).size(), 1u);
  Kinds kinds = state_.Kinds("t1");
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "node_started"), 1);
  state_.stop_requested = false;
  EXPECT_EQ(RunOk(Ask("again")).status, RunStatus::kStopped);  // the node interrupts again
}

TEST_F(RunLoopTest, ALoopThatNeverWaitsLetsOthersRun) {
  bool other_ran = false;
  bool spawned = false;
  builder_.AddFunction(
      "A",
      [&](const State&, RunContext&) -> NodeResult {
        if (!std::exchange(spawned, true)) runtime_.Spawn([&] { other_ran = true; });
        return other_ran ? NodeResult().GoTo(END) : NodeResult();
      },
      Execution::kNonBlocking);
  builder_.AddEdge(START, "A").AddEdge("A", "A");
  RunRequest request = Ask("hi");
  request.recursion_limit = 100;
  EXPECT_EQ(RunOk(request).status, RunStatus::kDone);
}

TEST_F(RunLoopTest, GoToJumpsAndMayEnd) {
  builder_.AddFunction("A", [](const State&, RunContext&) -> NodeResult {
    return NodeResult(Message::Assistant("one")).GoTo("C");
  });
  builder_.AddFunction("B", Say("two")).AddFunction("C", [](const State&, RunContext&) {
    return NodeResult().GoTo(END);
  });
  builder_.AddEdge(START, "A").AddEdge("A", "B").AddEdge("B", "C").AddEdge("C", "A");
  EXPECT_EQ(json::parse(RunOk(Ask("hi")).messages_json).size(), 2u);
}

TEST_F(RunLoopTest, FieldsAreReducedAndSurviveTheRun) {
  builder_.AddField({.name = "notes", .reducer = Reducer::kAppend});
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    return NodeResult().Set("notes", "n" + std::to_string(state.Field("notes").size()));
  });
  builder_.AddEdge(START, "A");
  RunOk(Ask("hi"));
  RunOutcome second = RunOk(Ask("again"));
  EXPECT_EQ(json::parse(second.state_json).at("notes"), json({"n0", "n1"}));
  Kinds kinds = state_.Kinds("t1");
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "state_update"), 2);
}

TEST_F(RunLoopTest, InitialStateSetsFieldsAndContextButNotExecution) {
  builder_.AddField({.name = "city"});
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    return Message::Assistant(state.Field("city").get<std::string>() + " " +
                              std::to_string(state.messages().size()));
  });
  builder_.AddEdge(START, "A");
  RunRequest request = Ask("hi");
  request.initial_state = std::make_shared<const json>(json::parse(
      R"({"city":"Rome","execution_meta":{"current_node":"B"},"context_summary":"short"})"));
  request.initial_context = {Message::User("before")};
  RunOutcome outcome = RunOk(request);
  EXPECT_EQ(TextOf(json::parse(outcome.messages_json).back()), "Rome 2");
  EXPECT_EQ(outcome.summary, "short");
}

TEST_F(RunLoopTest, StatesAreEmittedAfterEachNodeWhenWanted) {
  sink_.states = true;
  builder_.AddFunction("A", Say("one")).AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B");
  RunOk(Ask("hi"));
  auto updates = sink_.Of(RunEvent::Kind::kUpdate);
  auto states = sink_.Of(RunEvent::Kind::kState);
  ASSERT_EQ(updates.size(), 2u);
  EXPECT_EQ(updates, states);
  EXPECT_EQ(states[0].at("execution_meta").at("current_node"), "A");
  EXPECT_EQ(states[0].at("execution_meta").at("step"), 1);
  EXPECT_EQ(states[0].at("execution_meta").at("is_running"), true);
  EXPECT_EQ(states[0].at("context").size(), 2u);
}

TEST_F(RunLoopTest, ANodeSeesUserAndConfig) {
  builder_.AddFunction("A", [](const State&, RunContext& context) -> NodeResult {
    EXPECT_EQ(context.user().at("user_id"), "u1");
    EXPECT_EQ(context.config().at("tone"), "dry");
    EXPECT_EQ(context.config().at("user").at("user_id"), "u1");
    EXPECT_EQ(context.node(), "A");
    EXPECT_EQ(context.thread_id(), "t1");
    EXPECT_EQ(context.run_id(), "r1");
    return {};
  });
  builder_.AddEdge(START, "A");
  RunRequest request = Ask("hi");
  request.run_id = "r1";
  request.user = std::make_shared<const json>(json::parse(R"({"user_id":"u1"})"));
  request.config =
      std::make_shared<const json>(json::parse(R"({"tone":"dry","user":{"user_id":"forged"}})"));
  EXPECT_EQ(RunOk(request).status, RunStatus::kDone);
}

TEST_F(RunLoopTest, EventsAfterANodeNameItAndTheSteps) {
  sink_.states = true;
  builder_.AddFunction("A \"1\"", Say("one")).AddEdge(START, "A \"1\"");
  RunRequest request = Ask("hi");
  request.recursion_limit = 7;
  RunOk(request);
  int updates = 0;
  for (const RunEvent& event : sink_.events) {
    EXPECT_EQ(event.node, "A \"1\"");
    EXPECT_EQ(event.step, 1);
    if (event.kind == RunEvent::Kind::kState) {
      EXPECT_EQ(event.data_json, "");
    }
    if (event.kind != RunEvent::Kind::kUpdate) continue;
    ++updates;
    EXPECT_EQ(
        json::parse(event.data_json),
        json({{"status", "node_invoked"}, {"node", "A \"1\""}, {"step", 1}, {"max_steps", 7}}));
  }
  EXPECT_EQ(updates, 1);
}

TEST_F(RunLoopTest, ANodeMayReturnAThousandMessages) {
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    NodeResult result;
    result.messages.assign(std::stoul(state.LastUserText()), Message::Assistant("x"));
    return result;
  });
  builder_.AddEdge(START, "A");
  EXPECT_EQ(json::parse(RunOk(Ask("1000", "t1")).messages_json).size(), 1001u);
  const RunOutcome outcome = RunOk(Ask("1001", "t2"));
  EXPECT_EQ(outcome.error.code(), StatusCode::kGraph);
  EXPECT_EQ(outcome.error.message(), "node \"A\" returned more than 1000 messages");
  EXPECT_EQ(json::parse(outcome.messages_json).size(), 1u);
}

TEST_F(RunLoopTest, TheLogCountsTheSteps) {
  builder_.AddFunction("A", Say("one")).AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B");
  state::FinishRunRequest finished;
  state_.before_finish = [&](const state::FinishRunRequest& finish) {
    finished = finish;
    return Status::Ok();
  };
  RunOk(Ask("hi"));
  std::vector<std::string> nodes;
  for (const state::LogEntry& entry : state_.At("t1").log) {
    if (!entry.kind.starts_with("node_")) continue;
    const json fields = json::parse(entry.json);
    nodes.push_back(entry.kind + " " + fields.at("node").get<std::string>() + " " +
                    fields.at("step").dump());
  }
  EXPECT_EQ(nodes, (Kinds{"node_started A 1", "node_finished A 1", "node_started B 2",
                          "node_finished B 2"}));
  EXPECT_EQ(finished.append.current_node, "END");
  EXPECT_EQ(finished.append.step, 2);
  EXPECT_TRUE(finished.append.durable);
}

TEST_F(RunLoopTest, NodesThatTakeNoTimeAreAppendedTogether) {
  builder_.AddFunction("A", Say("one"), Execution::kNonBlocking);
  builder_.AddFunction("B", Say("two"), Execution::kNonBlocking);
  builder_.AddFunction("C", Say("three"));
  builder_.AddFunction("D", Say("four"), Execution::kNonBlocking);
  builder_.AddFunction("E", Say("five"), Execution::kNonBlocking);
  builder_.AddEdge(START, "A").AddEdge("A", "B").AddEdge("B", "C").AddEdge("C", "D");
  builder_.AddEdge("D", "E");
  EXPECT_EQ(json::parse(RunOk(Ask("hi")).messages_json).size(), 6u);
  // Before a node that takes time, and behind it.
  EXPECT_EQ(state_.At("t1").places, (Kinds{"C", "D", "END"}));
}

TEST_F(RunLoopTest, TheStateGetsTheParametersOfTheRun) {
  options_.window_max = 7;
  options_.enqueue_if_busy = false;
  options_.queue_max = 3;
  options_.busy_wait_max = std::chrono::milliseconds(500);
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  std::vector<state::BeginRunRequest> begun;
  state_.before_begin = [&](const state::BeginRunRequest& begin) {
    begun.push_back(begin);
    return Status::Ok();
  };
  RunRequest request = Ask("hi");
  request.scope = state::Scope::Owner("alice");
  request.user_id = "alice";
  request.run_id = "r1";
  request.cancelled_after = std::chrono::milliseconds(9000);
  RunOk(request);
  request = Ask("hi", "");
  request.deadline = DeadlineAfter(std::chrono::hours(1));
  RunOk(request);
  request.deadline = MonotonicClock::now();
  RunOk(request);
  ASSERT_EQ(begun.size(), 3u);
  EXPECT_EQ(begun[0].scope.kind, state::Scope::Kind::kOwner);
  EXPECT_EQ(begun[0].scope.user_id, "alice");
  EXPECT_EQ(begun[0].user_id, "alice");
  EXPECT_EQ(begun[0].thread_id, "t1");
  EXPECT_EQ(begun[0].run_id, "r1");
  EXPECT_EQ(begun[0].graph_name, "test");
  EXPECT_FALSE(begun[0].graph_hash.empty());
  EXPECT_FALSE(begun[0].creation_id.empty());
  EXPECT_NE(begun[0].creation_id, begun[1].creation_id);
  EXPECT_EQ(begun[0].window_max, 7u);
  EXPECT_FALSE(begun[0].enqueue_if_busy);
  EXPECT_EQ(begun[0].queue_max, 3u);
  EXPECT_EQ(begun[0].wait_ms_max, 500);
  EXPECT_EQ(begun[0].run_ms_max, 9000);
  EXPECT_FALSE(begun[0].new_thread_only);
  EXPECT_TRUE(begun[1].new_thread_only);
  EXPECT_EQ(begun[1].wait_ms_max, 500) << "the deadline is further away";
  EXPECT_EQ(begun[2].wait_ms_max, 0) << "the deadline has passed";
}

TEST_F(RunLoopTest, AGeneratedThreadIdThatIsTakenIsReplaced) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  std::vector<std::string> tried;
  size_t taken = 3;
  state_.before_begin = [&](const state::BeginRunRequest& begin) {
    tried.push_back(begin.thread_id);
    return tried.size() <= taken ? Status(StatusCode::kConflict, "exists") : Status::Ok();
  };
  const RunOutcome outcome = RunOk(Ask("hi", ""));
  ASSERT_EQ(tried.size(), 4u);
  EXPECT_EQ(outcome.start.thread_id, tried[3]);
  EXPECT_NE(tried[0], tried[1]);
  taken = 1000;
  tried.clear();
  EXPECT_EQ(Run(Ask("hi", "")).status().code(), StatusCode::kConflict);
  EXPECT_EQ(tried.size(), 8u);
  // The thread that a client names is not replaced.
  tried.clear();
  EXPECT_EQ(Run(Ask("hi", "mine")).status().code(), StatusCode::kConflict);
  EXPECT_EQ(tried, std::vector<std::string>{"mine"});
}

TEST_F(RunLoopTest, LinesOfANodeNameItInTheLog) {
  std::vector<std::string> lines;
  options_.services.log = [&](LogLevel level, std::string_view line) {
    EXPECT_EQ(level, LogLevel::kInfo);
    lines.emplace_back(line);
  };
  builder_.AddFunction("A", [](const State&, RunContext& context) -> NodeResult {
    context.Log(LogLevel::kInfo, "looked up");
    return {};
  });
  builder_.AddEdge(START, "A");
  RunRequest request = Ask("hi");
  request.run_id = "r1";
  RunOk(request);
  EXPECT_EQ(lines, std::vector<std::string>{"run r1 node A: looked up"});
}

}  // namespace
}  // namespace agent_graph::run
