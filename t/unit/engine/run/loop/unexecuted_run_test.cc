// Runs that end, or leave their worker, before their first node, and what later runs know of them.
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "continuation_fixture.h"
#include "run/context/run_meter.h"

namespace agent_graph::run {
namespace {

// The runs of a log, as the state returns them.
state::RunTraces TracesOf(const std::vector<state::LogEntry>& log,
                          const state::ReadRunsRequest& read) {
  state::RunTraces traces;
  std::vector<state::LogEntry> run;
  for (auto entry = log.rbegin(); entry != log.rend(); ++entry) {
    run.insert(run.begin(), *entry);
    if (entry->kind != "run_started") continue;
    const std::string run_id = json::parse(entry->json).at("run_id");
    if (traces.run_id.empty() && (read.run_id.empty() || read.run_id == run_id)) {
      traces.run_id = run_id;
      traces.entries = run;
    }
    run.clear();
    traces.run_ids.insert(traces.run_ids.begin(), run_id);
    if (traces.run_ids.size() == read.runs_max) break;
  }
  return traces;
}

class LostCallOfThreadTest : public ContinuationTest {
 protected:
  LostCallOfThreadTest() {
    builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
    ON_CALL(state_, ReadRuns).WillByDefault([this](const state::ReadRunsRequest& read) {
      return Result<state::RunTraces>(TracesOf(state_.At("t1").log, read));
    });
  }
  // A run has called the tool and was lost.
  void LoseCall(std::vector<EntryBody> entries) {
    entries.insert(entries.begin(), entry::MessageAdded{.message_id = "m2", .node = "MAIN"});
    DieInTools({{"c1", "pay", "{}", false}}, std::move(entries));
  }
  // A later run of the thread has ended before its first node.
  void Refuse(const std::string& run_id) {
    for (EntryBody body : {EntryBody(entry::RunStarted{.run_id = run_id}),
                           EntryBody(entry::RunFailed{.code = "PERMISSION_DENIED"}),
                           EntryBody(entry::RunFinished{.run_id = run_id})}) {
      state_.At("t1").log.push_back(Encode(std::move(body), 3));
    }
  }
  // The result of the call that the next run adds.
  std::string Told() {
    const std::vector<json> results = ToolResults(RunOk(Ask("and now?")));
    EXPECT_EQ(results.size(), 1u);
    return results.empty() ? std::string() : results[0].at("output").dump();
  }
  entry::ToolIntent Intent() {
    return {.call = Ref("c1", "pay"), .idempotency_key = Key(0), .idempotent = false};
  }
};

TEST_F(LostCallOfThreadTest, IsUnknownAlsoIfALaterRunHasDoneNothing) {
  LoseCall({Intent()});
  Refuse("r2");
  Refuse("r3");
  EXPECT_NE(Told().find("whether it took effect is unknown"), std::string::npos);
}

TEST_F(LostCallOfThreadTest, ItsResultIsFoundBehindALaterRun) {
  LoseCall({Intent(), entry::ToolFinished{.call = Ref("c1", "pay"), .output_json = "\"paid\""}});
  Refuse("r2");
  EXPECT_EQ(Told(), "\"paid\"");
}

TEST_F(LostCallOfThreadTest, HasNotBegunWithoutAnIntent) {
  LoseCall({});
  Refuse("r2");
  EXPECT_NE(Told().find("before this call had a result"), std::string::npos);
}

TEST_F(LostCallOfThreadTest, AnEarlierCallWithItsIdIsAnother) {
  LoseCall({});
  std::vector<state::LogEntry>& log = state_.At("t1").log;
  log.insert(log.begin() + 1,
             Encode(entry::ToolFinished{.call = Ref("c1", "pay"), .output_json = "\"old\""}, 1));
  EXPECT_NE(Told().find("before this call had a result"), std::string::npos);
}

TEST_F(LostCallOfThreadTest, IsUnknownIfTheLogOfItsRunIsGone) {
  LoseCall({});
  state_.At("t1").log.clear();
  EXPECT_NE(Told().find("whether this call took effect is unknown"), std::string::npos);
}

TEST_F(LostCallOfThreadTest, IsUnknownIfOnlyTheLogOfALaterRunIsLeft) {
  LoseCall({});
  state_.At("t1").log.clear();
  Refuse("r2");
  EXPECT_NE(Told().find("whether this call took effect is unknown"), std::string::npos);
}

TEST_F(LostCallOfThreadTest, NobodyGuessesIfTheLogCannotBeRead) {
  LoseCall({Intent()});
  const Status away(StatusCode::kUnavailable, "no answer");
  ON_CALL(state_, ReadRuns).WillByDefault(testing::Return(away));
  EXPECT_EQ(RunOk(Ask("and now?")).error.code(), StatusCode::kUnavailable);
  RunRequest accepted = Attempt(1);
  accepted.messages.front().id = "m9";
  EXPECT_TRUE(RunOk(accepted).left);
  EXPECT_EQ(state_.At("t1").last_status, "handed_over");
}

TEST_F(LostCallOfThreadTest, IsUnknownIfTheLogIsDamaged) {
  LoseCall({Intent()});
  ON_CALL(state_, ReadRuns).WillByDefault(testing::Return(state::DamagedState()));
  EXPECT_NE(Told().find("whether this call took effect is unknown"), std::string::npos);
}

// --- resumes that another worker continues -----------------------------------------------------

class ResumeElsewhereTest : public ContinuationTest {
 protected:
  // A run pauses before B. Another one resumes the thread, and leaves its worker before B.
  void LeaveBeforePause() {
    builder_.AddFunction("A", Say("one")).AddFunction("B", Say("two"));
    builder_.AddEdge(START, "A").AddEdge("A", "B").InterruptBefore({"B"});
    EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kInterrupted);
    const uint64_t begin = state_.At("t1").log.size();
    ON_CALL(state_, FollowRun).WillByDefault([=, this](const state::FollowRunRequest& read, auto) {
      const std::vector<state::LogEntry>& log = state_.At("t1").log;
      state::FollowRunReply reply;
      for (uint64_t i = std::max(read.first, begin); i < log.size(); ++i) {
        reply.entries.push_back({i, 1, log[i]});
      }
      return Result<state::FollowRunReply>(reply);
    });
    hand_over_->Request();
    EXPECT_TRUE(RunOk(Attempt(1)).left);
    EXPECT_EQ(appends_.back().current_node, "B");
  }
  json Execution() { return json::parse(state_.At("t1").state.snapshot.execution_json); }
};

TEST_F(ResumeElsewhereTest, TheThreadStaysPausedIfItIsCancelledThere) {
  LeaveBeforePause();
  const RunRequest next = NextAttempt();
  cancellation_.Cancel(runtime::CancelReason::kStopped);
  EXPECT_EQ(RunOk(next).status, RunStatus::kStopped);
  EXPECT_EQ(Execution().at("interrupted_node"), "B");
  // The client repeats its request.
  cancellation_ = runtime::Cancellation();
  RunRequest repeated = Ask("hi");
  repeated.messages.front().id = "m1";
  const RunOutcome outcome = RunOk(repeated);
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(TextOf(json::parse(outcome.messages_json).back()), "two");
}

TEST_F(ResumeElsewhereTest, IsExecutedThere) {
  LeaveBeforePause();
  const RunOutcome outcome = RunOk(NextAttempt());
  EXPECT_EQ(outcome.status, RunStatus::kDone);
  EXPECT_EQ(TextOf(json::parse(outcome.messages_json).back()), "two");
}

TEST_F(ResumeElsewhereTest, ThePauseHasEndedIfAnAttemptWasLost) {
  LeaveBeforePause();
  state_.At("t1").log.push_back(Encode(entry::AttemptStarted{.run_id = "r1", .attempt = 2}, 4));
  state_.At("t1").log.push_back(Encode(entry::AttemptStarted{.run_id = "r1", .attempt = 3}, 4));
  state_.At("t1").log.push_back(Encode(entry::AttemptLeft{}, 4));
  const RunRequest next = NextAttempt();
  cancellation_.Cancel(runtime::CancelReason::kStopped);
  EXPECT_EQ(RunOk(next).status, RunStatus::kStopped);
  EXPECT_EQ(Execution().at("status"), "completed");
}

// --- runs that wait for memory -----------------------------------------------------------------

class CancelledLoadTest : public ContinuationTest {
 protected:
  CancelledLoadTest() { builder_.AddFunction("A", Say("one")).AddEdge(START, "A"); }
  void CancelWhileItWaits(const RunRequest& request, runtime::CancelReason reason) {
    cancellation_ = runtime::Cancellation();
    state_.omitted_bytes = 1 << 20;
    sink_.on_await = [this, reason] {
      cancellation_.Cancel(reason);
      return Status(StatusCode::kCancelled, "the run was cancelled");
    };
    EXPECT_EQ(Run(request).status().code(), StatusCode::kCancelled);
  }
};

TEST_F(CancelledLoadTest, ADirectRunIsStopped) {
  CancelWhileItWaits(Ask("hi"), runtime::CancelReason::kStopped);
  EXPECT_EQ(finished_.status, "stopped");
  EXPECT_EQ(finished_.reason, "stopped");
  CancelWhileItWaits(Ask("hi"), runtime::CancelReason::kClientGone);
  EXPECT_EQ(finished_.status, "stopped");
  EXPECT_EQ(finished_.reason, "client_gone");
  CancelWhileItWaits(Ask("hi"), runtime::CancelReason::kShutdown);
  EXPECT_EQ(finished_.status, "error");
  EXPECT_EQ(finished_.reason, "shutdown");
}

TEST_F(CancelledLoadTest, AnAcceptedRunIsGivenBack) {
  CancelWhileItWaits(Attempt(1), runtime::CancelReason::kStopped);
  EXPECT_EQ(state_.At("t1").last_status, "handed_over");
  EXPECT_TRUE(finished_.status.empty());
  EXPECT_TRUE(state_.Kinds("t1").empty());
}

// --- messages that cannot be looked up ---------------------------------------------------------

class UnknownMessageTest : public ContinuationTest {
 protected:
  UnknownMessageTest() {
    builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
    state_.At("t1");
    const Status away(StatusCode::kUnavailable, "no answer");
    ON_CALL(state_, GetMessage).WillByDefault(testing::Return(away));
  }
};

TEST_F(UnknownMessageTest, IsNotStoredUnderAnotherId) {
  RunRequest request = Ask("hi");
  request.messages.front().id = "mine";
  EXPECT_EQ(RunOk(request).error.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(state_.At("t1").state.window.empty());
}

TEST_F(UnknownMessageTest, AnAcceptedRunIsGivenBack) {
  EXPECT_TRUE(RunOk(Attempt(1)).left);
  EXPECT_EQ(state_.At("t1").last_status, "handed_over");
  EXPECT_TRUE(state_.At("t1").state.window.empty());
}

// --- budgets -----------------------------------------------------------------------------------

TEST_F(ContinuationTest, TheSecondsOfABudgetBeginWhenTheRunHasItsTurn) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  constexpr std::chrono::seconds kSeconds{20};
  MonotonicClock::time_point turn;
  state_.before_begin = [&](const state::BeginRunRequest&) {
    const auto asked = MonotonicClock::now();
    do {
      turn = MonotonicClock::now();
    } while (turn - asked < std::chrono::milliseconds(50));
    return Status::Ok();
  };
  auto graph = graph::CompiledGraph::Compile(builder_, "test");
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  Runner runner(*graph, &state_, runtime_, options_);
  RunRequest request = Ask("hi");
  request.config = std::make_shared<const json>(json::parse(R"({"budget":{"seconds":20}})"));
  std::promise<Deadline> end;
  runtime_.Spawn([&] {
    const auto begun = runner.Begin(request, cancellation_, [](uint64_t) { return Status::Ok(); });
    EXPECT_TRUE(begun.ok()) << begun.status().ToString();
    end.set_value(begun->environment->meter->deadline());
  });
  EXPECT_GE(end.get_future().get(), turn + kSeconds);
  state_.At("t1").leased = false;
}

TEST_F(ContinuationTest, CallsThatDiedWithTheirWorkerCount) {
  AddAgentWithTools(
      {MakeTool("look", true, [](const json&, ToolContext&) -> ToolOutput { return "1"; })});
  DieInTools({{"c1", "look", "{}", false}},
             {entry::ToolIntent{
                 .call = Ref("c1", "look"), .idempotency_key = Key(0), .idempotent = true}});
  model_.script = {{.pieces = {"One."}}};
  EXPECT_EQ(RunOk(Attempt(2, "TOOLS", 1)).status, RunStatus::kDone);
  EXPECT_EQ(json::parse(finished_.usage_json).at("tool_calls"), 2);
}

}  // namespace
}  // namespace agent_graph::run
