// The log of a thread with many runs: old runs are deleted in the background without visible
// effects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "../fixture.h"
#include "child_process.h"
#include "state/requests.h"

namespace agent_graph::state {
namespace {

constexpr uint64_t kEntriesMax = 1'000'000;
constexpr int kTracedRuns = 20;

std::string RunId(int run) {
  return Numbered("run", run);
}

// A run with three entries and two messages. The client sends it again if the state server dies
// meanwhile.
void LogRun(Service& service, int number, const std::string& thread_id = "t") {
  const BeginRunRequest run = RunOn(thread_id, "", RunId(number));
  Result<BeginRunReply> begun = service.BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  AppendRunRequest append = AppendOf(run, *begun, {UserMessage(Numbered("question", number))});
  append.entries = {{"run_started", R"({"run_id":")" + run.run_id + "\"}", 0},
                    {"step", std::to_string(number), 0}};
  ASSERT_TRUE(service.AppendRun(append).ok());
  FinishRunRequest finish = FinishOf(run, *begun, {AssistantMessage(Numbered("answer", number))});
  ASSERT_TRUE(service.FinishRun(finish).ok());
}

std::vector<LogEntry> LogOf(Service& service) {
  Result<std::vector<LogEntry>> log = service.ReadLog(Scope::All(), "t", 0, kEntriesMax);
  EXPECT_TRUE(log.ok());
  return log.ok() ? *std::move(log) : std::vector<LogEntry>();
}

// Waits until the log has at most the number of runs that it may keep.
void AwaitCut(Service& service) {
  while (LogOf(service).size() > 3 * 3 * kTracedRuns) std::this_thread::yield();
}

// Checks every visible answer about a thread with the runs 1 to `runs`.
void ExpectAnswersOf(Service& service, int runs) {
  Result<ThreadState> state = service.GetState(Scope::All(), "t");
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->record.last_run_id, RunId(runs));
  ASSERT_FALSE(state->window.empty());
  EXPECT_EQ(state->window.back().id, Numbered("answer", runs));
  Result<MessagePage> page = service.ListMessages(Scope::All(), "t", Page(0, 1000));
  ASSERT_TRUE(page.ok());
  std::vector<std::string> messages;
  for (int run = 1; run <= runs; ++run) {
    messages.push_back(Numbered("question", run));
    messages.push_back(Numbered("answer", run));
  }
  EXPECT_EQ(Ids(page->messages), messages);

  const int oldest = std::max(runs - kTracedRuns, 0) + 1;
  std::vector<std::string> run_ids;
  for (int run = oldest; run <= runs; ++run) run_ids.push_back(RunId(run));
  for (int run = oldest; run <= runs; ++run) {
    Result<RunTraces> traces = service.ReadRuns({Scope::All(), "t", RunId(run), kTracedRuns, 2000});
    ASSERT_TRUE(traces.ok());
    EXPECT_EQ(traces->run_ids, run_ids);
    EXPECT_EQ(traces->run_id, RunId(run));
    ASSERT_EQ(traces->entries.size(), 3u);
    EXPECT_EQ(traces->entries[0].kind, "run_started");
    EXPECT_EQ(traces->entries[1].json, std::to_string(run));
    EXPECT_EQ(traces->entries[2].kind, "run_finished");
  }
}

// Complete runs, the latest ones, without gaps.
void ExpectWholeRuns(const std::vector<LogEntry>& log, int runs) {
  ASSERT_EQ(log.size() % 3, 0u);
  ASSERT_GE(log.size(), static_cast<size_t>(3 * std::min(runs, kTracedRuns)));
  int run = runs - static_cast<int>(log.size() / 3);
  for (size_t i = 0; i < log.size(); i += 3) {
    EXPECT_EQ(log[i].kind, "run_started");
    EXPECT_EQ(log[i + 1].json, std::to_string(++run));
  }
}

TEST(RunLog, OldRunsAreCutOffAndNobodyNotices) {
  constexpr int kRuns = 200;
  TemporaryDirectory directory;
  auto server = StartServer(directory.path());
  auto client = StartClient(directory.path());
  for (int run = 1; run <= kRuns; ++run) {
    LogRun(*client, run);
    if (run % 10 == 0) ExpectAnswersOf(*client, run);
    ASSERT_FALSE(testing::Test::HasFatalFailure());
  }
  AwaitCut(*client);
  ExpectWholeRuns(LogOf(*client), kRuns);
  ExpectAnswersOf(*client, kRuns);
}

TEST(RunLog, ARunInFlightKeepsItsEntries) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path());
  auto client = StartClient(directory.path());
  for (int run = 1; run <= 200; ++run) LogRun(*client, run);
  const BeginRunRequest run = RunOn("t", "", RunId(201));
  Result<BeginRunReply> begun = client->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  AppendRunRequest append = AppendOf(run, *begun);
  append.entries = {{"run_started", R"({"run_id":")" + run.run_id + "\"}", 0}, {"step", "201", 0}};
  ASSERT_TRUE(client->AppendRun(append).ok());
  AwaitCut(*client);
  ASSERT_TRUE(client->AppendRun(AppendOf(run, *begun, {UserMessage("question201")})).ok());
  ASSERT_TRUE(client->FinishRun(FinishOf(run, *begun, {AssistantMessage("answer201")})).ok());
  ExpectAnswersOf(*client, 201);
}

TEST(RunLog, AThreadThatIsDeletedAmidTheCutLeavesNothing) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path());
  auto client = StartClient(directory.path());
  for (int run = 1; run <= 70; ++run) LogRun(*client, run);
  ASSERT_TRUE(client->DeleteThread(Scope::All(), "t").ok());
  for (int run = 1; run <= 70; ++run) LogRun(*client, run);
  ExpectAnswersOf(*client, 70);
}

TEST(RunLog, AKillAmidTheCutLosesNothing) {
  constexpr int kRuns = 300;
  TemporaryDirectory directory;
  auto server = std::make_unique<ChildProcess>("Child.DISABLED_Serves", directory.path());
  auto client = StartClient(directory.path());
  for (int run = 1; run <= kRuns; ++run) {
    LogRun(*client, run);
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    // After every 16 runs a part is deleted, in the background of the following operations.
    if (run % 16 < 2 && run > 32) {
      server.reset();
      server = std::make_unique<ChildProcess>("Child.DISABLED_Serves", directory.path());
    }
  }
  AwaitCut(*client);
  ExpectWholeRuns(LogOf(*client), kRuns);
  ExpectAnswersOf(*client, kRuns);
}

}  // namespace
}  // namespace agent_graph::state
