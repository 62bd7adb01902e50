// Runs in every implementation of state::Service: leases, stops, traces, remote tools.
#include <gmock/gmock.h>

#include <thread>

#include "conformance.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"
#include "state/limits.h"
#include "state/requests.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ServiceRunsTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(All, ServiceRunsTest, testing::ValuesIn(AllSetups()), SetupName);

TEST_P(ServiceRunsTest, FirstRunCreatesTheThreadAndTheSecondFindsIt) {
  BeginRunRequest run = RunOn("t", "alice");
  run.thread_name = "First words";
  run.creation_id = "c1";
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  EXPECT_TRUE(begun->created);
  const uint64_t first_epoch = begun->lease_epoch;
  EXPECT_EQ(begun->state.record.owner, "alice");
  EXPECT_EQ(begun->state.record.creation_id, "c1");
  EXPECT_EQ(begun->state.record.name, "First words");
  EXPECT_EQ(begun->state.record.last_run_id, run.run_id);
  EXPECT_GT(begun->state.record.created_micros, 0);
  EXPECT_THAT(begun->state.window, IsEmpty());
  FinishRunRequest finish = FinishOf(run, *begun, {UserMessage("m1"), AssistantMessage("m2")});
  finish.snapshot.fields_json = R"({"count":1})";
  finish.snapshot.summary = "short";
  finish.snapshot.graph_hash = "hash";
  ASSERT_TRUE(service().FinishRun(finish).ok());

  BeginRunRequest second = RunOn("t", "alice");
  begun = service().BeginRun(second, nullptr);
  ASSERT_TRUE(begun.ok());
  EXPECT_FALSE(begun->created);
  EXPECT_EQ(begun->lease_epoch, first_epoch + 1);
  EXPECT_THAT(Ids(begun->state.window), ElementsAre("m1", "m2"));
  EXPECT_EQ(begun->state.window[0].sequence, 1u);
  EXPECT_EQ(begun->state.window[0].json, UserMessage("m1").json);
  EXPECT_EQ(begun->state.snapshot.fields_json, R"({"count":1})");
  EXPECT_EQ(begun->state.snapshot.summary, "short");
  EXPECT_EQ(begun->state.snapshot.graph_hash, "hash");
  EXPECT_TRUE(service().FinishRun(FinishOf(second, *begun)).ok());
}

TEST_P(ServiceRunsTest, AStateThatIsTooLargeForTheReplyIsOmitted) {
  BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  FinishRunRequest finish = FinishOf(run, *begun, {UserMessage("m1")});
  finish.snapshot.fields_json = "{\"text\":\"" + std::string(5000, 'x') + "\"}";
  ASSERT_TRUE(service().FinishRun(finish).ok());

  BeginRunRequest second = RunOn("t");
  second.reply_bytes_max = 10'000;
  begun = service().BeginRun(second, nullptr);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(begun->omitted_bytes, 0u);
  EXPECT_THAT(Ids(begun->state.window), ElementsAre("m1"));
  FinishRunRequest unchanged = FinishOf(second, *begun);
  unchanged.snapshot = finish.snapshot;
  ASSERT_TRUE(service().FinishRun(unchanged).ok());

  BeginRunRequest third = RunOn("t");
  third.reply_bytes_max = 1000;
  begun = service().BeginRun(third, nullptr);
  ASSERT_TRUE(begun.ok());
  EXPECT_GT(begun->omitted_bytes, 5000u);
  EXPECT_GT(begun->lease_epoch, 2u);
  EXPECT_THAT(begun->state.window, IsEmpty());
  EXPECT_EQ(begun->state.snapshot.fields_json, Snapshot().fields_json);
  EXPECT_EQ(StateOf("t").in_flight.value().run_id, third.run_id);
}

TEST_P(ServiceRunsTest, StateShowsTheRunInFlightAndNotAfterwards) {
  BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  std::optional<RunInFlight> in_flight = StateOf("t").in_flight;
  ASSERT_TRUE(in_flight);
  EXPECT_EQ(in_flight->run_id, run.run_id);
  EXPECT_EQ(in_flight->current_node, "START");
  EXPECT_FALSE(in_flight->stop_requested);
  ASSERT_TRUE(service().AppendRun(AppendOf(run, *begun)).ok());
  in_flight = StateOf("t").in_flight;
  ASSERT_TRUE(in_flight);
  EXPECT_EQ(in_flight->current_node, "NODE");
  EXPECT_EQ(in_flight->step, 1);
  ASSERT_TRUE(service().FinishRun(FinishOf(run, *begun)).ok());
  EXPECT_FALSE(StateOf("t").in_flight);
}

TEST_P(ServiceRunsTest, AppendsAreFencedByTheLease) {
  BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  AppendRunRequest stale = AppendOf(run, *begun, {UserMessage("stale")});
  stale.lease_epoch += 1;
  EXPECT_EQ(service().AppendRun(stale).status().code(), StatusCode::kFenced);
  AppendRunRequest foreign = AppendOf(run, *begun, {UserMessage("foreign")});
  foreign.run_id = "another";
  EXPECT_EQ(service().AppendRun(foreign).status().code(), StatusCode::kFenced);
  ASSERT_TRUE(service().FinishRun(FinishOf(run, *begun, {UserMessage("m")})).ok());
  EXPECT_EQ(service().AppendRun(AppendOf(run, *begun)).status().code(), StatusCode::kFenced);
  // An end that is sent again is answered again, and executed once.
  EXPECT_TRUE(service().FinishRun(FinishOf(run, *begun, {UserMessage("again")})).ok());
  FinishRunRequest late = FinishOf(run, *begun, {UserMessage("late")});
  late.append.lease_epoch += 1;
  EXPECT_EQ(service().FinishRun(late).code(), StatusCode::kFenced);
  EXPECT_THAT(Ids(StateOf("t").window), ElementsAre("m"));
}

TEST_P(ServiceRunsTest, AnotherClientsLeaseIsNotOurs) {
  Client* other = Connect();
  BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(other->AppendRun(AppendOf(run, *begun)).status().code(), StatusCode::kFenced);
}

TEST_P(ServiceRunsTest, MessageIdThatExistsIsLeftAsItIs) {
  RunTurn(service(), "t", "", {UserMessage("m1", "one"), UserMessage("m1", "two")});
  RunTurn(service(), "t", "", {UserMessage("m1", "three"), UserMessage("m2")});
  ThreadState state = StateOf("t");
  EXPECT_THAT(Ids(state.window), ElementsAre("m1", "m2"));
  EXPECT_THAT(state.window[0].json, HasSubstr("one"));
}

TEST_P(ServiceRunsTest, BusyThreadQueuesInOrderOrRefuses) {
  BeginRunRequest first = RunOn("t");
  Result<BeginRunReply> begun = service().BeginRun(first, nullptr);
  ASSERT_TRUE(begun.ok());
  BeginRunRequest refused = RunOn("t");
  refused.enqueue_if_busy = false;
  EXPECT_EQ(service().BeginRun(refused, nullptr).status().code(), StatusCode::kBusy);
  BeginRunRequest late = RunOn("t");
  late.wait_ms_max = 1;
  EXPECT_EQ(service().BeginRun(late, nullptr).status().code(), StatusCode::kBusy);

  BeginRunRequest crowded = RunOn("t");
  crowded.queue_max = 0;
  EXPECT_EQ(service().BeginRun(crowded, nullptr).status().code(), StatusCode::kBusy);

  BeginRunRequest second = RunOn("t");
  std::thread waiting([&] {
    Result<BeginRunReply> granted = service().BeginRun(second, nullptr);
    ASSERT_TRUE(granted.ok()) << granted.status().ToString();
    EXPECT_THAT(Ids(granted->state.window), ElementsAre("m1"));
    EXPECT_TRUE(service().FinishRun(FinishOf(second, *granted)).ok());
  });
  EXPECT_TRUE(service().FinishRun(FinishOf(first, *begun, {UserMessage("m1")})).ok());
  waiting.join();
}

TEST_P(ServiceRunsTest, CancellationEndsTheWaitAndLeavesNoLease) {
  BeginRunRequest first = RunOn("t");
  Result<BeginRunReply> begun = service().BeginRun(first, nullptr);
  ASSERT_TRUE(begun.ok());
  runtime::Cancellation cancellation;
  BeginRunRequest second = RunOn("t");
  std::thread waiting([&] {
    EXPECT_EQ(service().BeginRun(second, &cancellation).status().code(), StatusCode::kCancelled);
  });
  cancellation.Cancel(runtime::CancelReason::kClientGone);
  waiting.join();
  EXPECT_TRUE(service().FinishRun(FinishOf(first, *begun)).ok());
  BeginRunRequest third = RunOn("t");
  begun = service().BeginRun(third, nullptr);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(StateOf("t").in_flight->run_id, third.run_id);
}

TEST_P(ServiceRunsTest, StopReachesTheRunAndCancelsTheQueue) {
  Result<StopReply> stop = service().RequestStop({Scope::All(), "t"});
  ASSERT_TRUE(stop.ok());
  EXPECT_FALSE(stop->running);
  EXPECT_EQ(StateCode("t"), StatusCode::kNotFound);

  BeginRunRequest run = RunOn("t", "alice");
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  EXPECT_FALSE(service().AppendRun(AppendOf(run, *begun))->stop_requested);
  stop = service().RequestStop({Scope::Owner("bob"), "t"});
  EXPECT_FALSE(stop->running);
  stop = service().RequestStop({Scope::Owner("alice"), "t"});
  ASSERT_TRUE(stop.ok());
  EXPECT_TRUE(stop->running);
  EXPECT_EQ(stop->run_id, run.run_id);
  EXPECT_TRUE(service().AppendRun(AppendOf(run, *begun))->stop_requested);
  EXPECT_TRUE(StateOf("t").in_flight->stop_requested);
  EXPECT_TRUE(service().FinishRun(FinishOf(run, *begun)).ok());
  EXPECT_FALSE(service().RequestStop({Scope::All(), "t"})->running);

  run = RunOn("t", "alice");
  begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  EXPECT_FALSE(service().AppendRun(AppendOf(run, *begun))->stop_requested);
}

TEST_P(ServiceRunsTest, RunLogIsOrderedAndReadFromAnyEntry) {
  BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  AppendRunRequest append = AppendOf(run, *begun);
  append.entries = {{"run_started", R"({"n":0})", 1}, {"node_started", R"({"n":1})", 2}};
  ASSERT_TRUE(service().AppendRun(append).ok());
  ASSERT_TRUE(service().FinishRun(FinishOf(run, *begun)).ok());
  Result<std::vector<LogEntry>> log = service().ReadLog(Scope::All(), "t", 0, 100);
  ASSERT_TRUE(log.ok());
  ASSERT_EQ(log->size(), 3u);
  EXPECT_EQ((*log)[0].kind, "run_started");
  EXPECT_EQ((*log)[1].json, R"({"n":1})");
  EXPECT_EQ((*log)[1].micros, 2);
  EXPECT_EQ((*log)[2].kind, "run_finished");
  EXPECT_GT((*log)[2].micros, 0) << "the time of the append";
  log = service().ReadLog(Scope::All(), "t", 1, 1);
  ASSERT_EQ(log->size(), 1u);
  EXPECT_EQ((*log)[0].kind, "node_started");
}

TEST_P(ServiceRunsTest, ARunWhoseEndIsRefusedFreesItsThread) {
  BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  const std::string long_id(kIdBytesMax + 1, 'x');
  EXPECT_EQ(service().FinishRun(FinishOf(run, *begun, {UserMessage(long_id)})).code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(service().BeginRun(RunOn("t"), nullptr).ok());
}

TEST_P(ServiceRunsTest, ManyThreadsInParallel) {
  constexpr int kWorkers = 8;
  constexpr int kTurns = 20;
  std::vector<std::thread> workers;
  for (int worker = 0; worker < kWorkers; ++worker) {
    workers.emplace_back([&, worker] {
      for (int turn = 0; turn < kTurns; ++turn) {
        RunTurn(service(), "shared", "",
                {UserMessage(std::to_string(worker) + Numbered(".", turn))});
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  Result<MessagePage> page = service().ListMessages(Scope::All(), "shared", Page(0, 1000));
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->messages.size(), static_cast<size_t>(kWorkers * kTurns));
  EXPECT_EQ(service().BeginRun(RunOn("shared"), nullptr)->lease_epoch,
            static_cast<uint64_t>(kWorkers * kTurns + 1));
}

// --- immediate stop ---------------------------------------------------------------------------

TEST_P(ServiceRunsTest, StopWithCancelCancelsTheRunWhereverItIs) {
  runtime::Cancellation cancellation;
  runtime::Signal cancelled;
  auto registration = cancellation.OnCancel([&] { cancelled.Notify(); });
  BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = service().BeginRun(run, &cancellation);
  ASSERT_TRUE(begun.ok());
  Client* other = Connect();
  ASSERT_TRUE(other->RequestStop({Scope::All(), "t"})->running);
  EXPECT_TRUE(service().AppendRun(AppendOf(run, *begun))->stop_requested);
  EXPECT_FALSE(cancellation.cancelled()) << "a plain stop waits for the node";
  ASSERT_TRUE(other->RequestStop({Scope::All(), "t", true})->running);
  EXPECT_EQ(cancelled.Wait(nullptr, DeadlineAfter(kPatience)), runtime::WakeReason::kNotified);
  EXPECT_EQ(cancellation.reason(), runtime::CancelReason::kStopped);
  EXPECT_TRUE(service().FinishRun(FinishOf(run, *begun)).ok());
  EXPECT_FALSE(other->RequestStop({Scope::All(), "t", true})->running);
}

TEST_P(ServiceRunsTest, ACancelThatWasLostWithAConnectionIsToldAgain) {
  runtime::Cancellation cancellation;
  runtime::Signal cancelled;
  auto registration = cancellation.OnCancel([&] { cancelled.Notify(); });
  BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = service().BeginRun(run, &cancellation);
  ASSERT_TRUE(begun.ok());
  Client* other = Connect();
  client_->DropConnection();
  ASSERT_TRUE(other->RequestStop({Scope::All(), "t", true})->running);
  EXPECT_EQ(cancelled.Wait(nullptr, DeadlineAfter(kPatience)), runtime::WakeReason::kNotified);
  EXPECT_TRUE(service().FinishRun(FinishOf(run, *begun)).ok());
}

// --- traces ------------------------------------------------------------------------------------

// A run with this id and `steps` entries between its first and last ones.
void LogRun(Service& service, const std::string& run_id, int steps) {
  BeginRunRequest run = RunOn("t");
  run.run_id = run_id;
  Result<BeginRunReply> begun = service.BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  AppendRunRequest append = AppendOf(run, *begun);
  append.entries = {{"run_started", R"({"run_id":")" + run_id + "\"}", 0}};
  for (int i = 0; i < steps; ++i) append.entries.push_back({"step", Numbered("", i), 0});
  ASSERT_TRUE(service.AppendRun(append).ok());
  ASSERT_TRUE(service.FinishRun(FinishOf(run, *begun)).ok());
}

TEST_P(ServiceRunsTest, ReadsTheTracesOfTheLatestRuns) {
  EXPECT_EQ(service().ReadRuns({Scope::All(), "t", ""}).status().code(), StatusCode::kNotFound);
  for (int i = 1; i <= 5; ++i) LogRun(service(), Numbered("r", i), i);
  Result<RunTraces> traces = service().ReadRuns({Scope::All(), "t", "", 3});
  ASSERT_TRUE(traces.ok());
  EXPECT_EQ(traces->run_ids, (std::vector<std::string>{"r3", "r4", "r5"}));
  EXPECT_EQ(traces->run_id, "r5");
  ASSERT_EQ(traces->entries.size(), 7u);
  EXPECT_EQ(traces->entries.front().kind, "run_started");
  EXPECT_EQ(traces->entries.back().kind, "run_finished");
  EXPECT_FALSE(traces->in_flight);

  traces = service().ReadRuns({Scope::All(), "t", "r4", 20, 2});
  EXPECT_EQ(traces->run_ids.size(), 5u);
  ASSERT_EQ(traces->entries.size(), 3u) << "the start and the newest";
  EXPECT_EQ(traces->entries[1].json, "3");
  EXPECT_EQ(service().ReadRuns({Scope::All(), "t", "r9"})->run_id, "");
  EXPECT_EQ(service().ReadRuns({Scope::All(), "t", "r1", 3})->run_id, "");
}

TEST_P(ServiceRunsTest, ATraceTellsThatItsRunIsInFlight) {
  BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  AppendRunRequest append = AppendOf(run, *begun);
  append.entries = {{"run_started", R"({"run_id":")" + run.run_id + "\"}", 0}};
  ASSERT_TRUE(service().AppendRun(append).ok());
  EXPECT_TRUE(service().ReadRuns({Scope::All(), "t", ""})->in_flight);
  EXPECT_TRUE(service().FinishRun(FinishOf(run, *begun)).ok());
  EXPECT_FALSE(service().ReadRuns({Scope::All(), "t", ""})->in_flight);
}

// --- remote tools --------------------------------------------------------------------------------

TEST_P(ServiceRunsTest, RemoteToolsAreReplacedByNodeAndEndWithTheirGeneration) {
  EXPECT_TRUE(service().GetRemoteTools()->tools.empty());
  BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  const uint64_t before = begun->remote_tools_version;
  ASSERT_TRUE(service().FinishRun(FinishOf(run, *begun)).ok());

  ASSERT_TRUE(
      service().ReplaceRemoteTools({"g1", {{"A", "x", "", "{}"}, {"B", "y", "", "{}"}}}).ok());
  ASSERT_TRUE(service().ReplaceRemoteTools({"g1", {{"A", "z", "new", "{}"}}}).ok());
  Result<RemoteTools> tools = service().GetRemoteTools();
  ASSERT_TRUE(tools.ok());
  EXPECT_EQ(tools->generation, "g1");
  ASSERT_EQ(tools->tools.size(), 2u);
  EXPECT_EQ(tools->tools[0].name, "y");
  EXPECT_EQ(tools->tools[1].name, "z");

  run = RunOn("t");
  begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  EXPECT_GT(tools->version, before);
  EXPECT_EQ(begun->remote_tools_version, tools->version) << "of a thread that exists";
  ASSERT_TRUE(service().FinishRun(FinishOf(run, *begun)).ok());
  run = RunOn("fresh");
  begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(begun->remote_tools_version, tools->version) << "of a new thread";
  ASSERT_TRUE(service().FinishRun(FinishOf(run, *begun)).ok());

  ASSERT_TRUE(service().ReplaceRemoteTools({"g2", {{"C", "w", "", "{}"}}}).ok());
  tools = service().GetRemoteTools();
  ASSERT_EQ(tools->tools.size(), 1u);
  EXPECT_EQ(tools->tools[0].node, "C");
}

}  // namespace
}  // namespace agent_graph::state
