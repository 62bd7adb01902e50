// The state server's role: takeover, handover, and their effects on clients.

#include <gmock/gmock.h>
#include <leveldb/write_batch.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "../fixture.h"
#include "child_process.h"
#include "runtime/signal.h"
#include "state/leveldb/maintenance/maintenance.h"
#include "state/leveldb/memories.h"
#include "state/requests.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Child, DISABLED_Serves) {
  ASSERT_NE(ChildDirectory(), "");
  auto server = StartServer(ChildDirectory());
  for (;;) pause();
}

TEST(Child, DISABLED_HoldsALease) {
  ASSERT_NE(ChildDirectory(), "");
  auto client = StartClient(ChildDirectory());
  BeginRunRequest run = RunOn("held", "", "run-of-the-child");
  Result<BeginRunReply> begun = client->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  ASSERT_TRUE(client->AppendRun(AppendOf(run, *begun, {UserMessage("m1")})).ok());
  for (;;) pause();
}

// Polls until the child's run has reached its last node.
void AwaitChildsRun(Service& service) {
  for (;;) {
    Result<ThreadState> state = service.GetState(Scope::All(), "held");
    if (state.ok() && state->in_flight && state->in_flight->current_node == "NODE") return;
    std::this_thread::yield();
  }
}

void ExpectChildsRunLost(Service& service) {
  Result<ThreadState> state = service.GetState(Scope::All(), "held");
  ASSERT_TRUE(state.ok());
  EXPECT_THAT(state->snapshot.execution_json, HasSubstr(R"("status":"error")"));
  EXPECT_THAT(state->snapshot.execution_json, HasSubstr(R"("reason":"worker_lost")"));
  EXPECT_THAT(state->snapshot.execution_json, HasSubstr(R"("current_node":"NODE")"));
  EXPECT_THAT(Ids(state->window), ElementsAre("m1"));
  Result<std::vector<LogEntry>> log = service.ReadLog(Scope::All(), "held", 0, 10);
  ASSERT_TRUE(log.ok());
  ASSERT_FALSE(log->empty());
  EXPECT_EQ(log->back().kind, "run_finished");
  EXPECT_THAT(log->back().json, HasSubstr("worker_lost"));
}

TEST(StateServer, RefusesADirectoryThatOthersMayEnter) {
  TemporaryDirectory directory;
  ASSERT_EQ(chmod(directory.path().c_str(), 0750), 0);
  StateOptions options;
  options.directory = directory.path();
  Result<std::unique_ptr<StateServer>> server = StartStateServer(options);
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.status().code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(server.status().message(), HasSubstr("0700"));
  EXPECT_THAT(server.status().message(), HasSubstr("0750"));
}

TEST(StateServer, RootServesTheDirectoryOfTheConfiguredUserOnly) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  constexpr uid_t kUser = 65534;
  TemporaryDirectory directory;
  ASSERT_EQ(chown(directory.path().c_str(), kUser, static_cast<gid_t>(-1)), 0);
  EXPECT_FALSE(StateDirectory::Open(directory.path()).ok());
  EXPECT_FALSE(StateDirectory::Open(directory.path(), kUser - 1).ok());
  EXPECT_TRUE(StateDirectory::Open(directory.path(), kUser).ok());
  ASSERT_EQ(chmod(directory.path().c_str(), 0750), 0);
  EXPECT_FALSE(StateDirectory::Open(directory.path(), kUser).ok());
}

TEST(StateServer, ServesADirectoryWithALongPath) {
  TemporaryDirectory parent;
  std::string directory = parent.path() + "/" + std::string(200, 'd');
  auto server = StartServer(directory);
  auto client = StartClient(directory);
  RunTurn(*client, "t", "", {UserMessage("m")});
}

TEST(StateServer, WhatWasAcknowledgedIsThereAfterARestart) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path());
  auto client = StartClient(directory.path());
  RunTurn(*client, "t", "alice", {UserMessage("m1")});
  server.reset();
  server = StartServer(directory.path());
  BeginRunRequest run = RunOn("t", "alice");
  Result<BeginRunReply> begun = client->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  EXPECT_FALSE(begun->created);
  EXPECT_THAT(Ids(begun->state.window), ElementsAre("m1"));
}

TEST(StateServer, MemoryForgetsAtARestart) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path(), "memory");
  auto client = StartClient(directory.path());
  RunTurn(*client, "t", "", {UserMessage("m1")});
  server.reset();
  server = StartServer(directory.path(), "memory");
  EXPECT_EQ(client->GetThread(Scope::All(), "t").status().code(), StatusCode::kNotFound);
}

TEST(StateServer, ALeaseOutlivesItsOwner) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path());
  auto client = StartClient(directory.path());
  auto other = StartClient(directory.path());
  BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = client->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  server.reset();
  server = StartServer(directory.path());
  BeginRunRequest refused = RunOn("t");
  refused.enqueue_if_busy = false;
  EXPECT_EQ(other->BeginRun(refused, nullptr).status().code(), StatusCode::kBusy);
  EXPECT_TRUE(client->FinishRun(FinishOf(run, *begun)).ok());
  EXPECT_TRUE(other->BeginRun(refused, nullptr).ok());
}

// Appends numbered log entries in one run until `end` is set; counts the acknowledged ones.
void AppendUntil(Service& service, const std::string& thread_id, const std::atomic<bool>& end,
                 std::atomic<int>& count) {
  BeginRunRequest run = RunOn(thread_id);
  Result<BeginRunReply> begun = service.BeginRun(run, nullptr);
  EXPECT_TRUE(begun.ok()) << begun.status().ToString();
  while (!end) {
    AppendRunRequest append = AppendOf(run, *begun);
    append.entries = {{"step", std::to_string(count), 0}};
    Status status = service.AppendRun(append).status();
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!status.ok()) break;
    ++count;
  }
}

// Waits until `more` further entries are acknowledged.
void AwaitProgress(const std::atomic<int>& count, int more) {
  for (const int target = count + more; count < target;) std::this_thread::yield();
}

void ExpectEachEntryOnce(Service& service, const std::string& thread_id, int count) {
  Result<std::vector<LogEntry>> log = service.ReadLog(Scope::All(), thread_id, 0, 1'000'000);
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  ASSERT_EQ(log->size(), static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ((*log)[static_cast<size_t>(i)].json, std::to_string(i));
  }
}

TEST(StateServer, NothingIsLostOrDoneTwiceWhenConnectionsBreak) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path());
  auto client = StartClient(directory.path());
  auto reader = StartClient(directory.path());
  std::atomic<bool> end{false};
  std::atomic<int> count{0};
  std::thread writer([&] { AppendUntil(*client, "t", end, count); });
  for (int i = 0; i < 50; ++i) {
    client->DropConnection();
    AwaitProgress(count, 2);
  }
  end = true;
  writer.join();
  ExpectEachEntryOnce(*reader, "t", count);
}

TEST(StateServer, NothingIsLostOrDoneTwiceWhenOwnersAreKilled) {
  TemporaryDirectory directory;
  auto server = std::make_unique<ChildProcess>("Child.DISABLED_Serves", directory.path());
  auto client = StartClient(directory.path());
  auto reader = StartClient(directory.path());
  std::atomic<bool> end{false};
  std::atomic<int> count{0};
  std::thread writer([&] { AppendUntil(*client, "t", end, count); });
  for (int i = 0; i < 4; ++i) {
    AwaitProgress(count, 20);
    server->Kill();
    server = std::make_unique<ChildProcess>("Child.DISABLED_Serves", directory.path());
  }
  AwaitProgress(count, 20);
  end = true;
  writer.join();
  ExpectEachEntryOnce(*reader, "t", count);
}

TEST(StateServer, RunOfAKilledWorkerEndsAsLostAndTheNextOneGetsTheThread) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path());
  auto client = StartClient(directory.path());
  ChildProcess worker("Child.DISABLED_HoldsALease", directory.path());
  AwaitChildsRun(*client);
  worker.Kill();
  Result<BeginRunReply> begun = client->BeginRun(RunOn("held"), nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  EXPECT_EQ(begun->lease_epoch, 2u);
  ExpectChildsRunLost(*client);
}

TEST(StateServer, RunOfAWorkerKilledWithItsOwnerIsFreedByTheNextOwner) {
  TemporaryDirectory directory;
  auto server = std::make_unique<ChildProcess>("Child.DISABLED_Serves", directory.path());
  auto client = StartClient(directory.path());
  ChildProcess worker("Child.DISABLED_HoldsALease", directory.path());
  AwaitChildsRun(*client);
  server->Kill();
  worker.Kill();
  auto next = StartServer(directory.path());
  ASSERT_TRUE(client->BeginRun(RunOn("held"), nullptr).ok());
  ExpectChildsRunLost(*client);
}

TEST(StateServer, ClientThatLeavesFreesItsRuns) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path());
  auto client = StartClient(directory.path());
  auto other = StartClient(directory.path());
  ASSERT_TRUE(client->BeginRun(RunOn("t"), nullptr).ok());
  client->Stop();
  EXPECT_EQ(client->GetThread(Scope::All(), "t").status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(other->BeginRun(RunOn("t"), nullptr).ok());
}

TEST(StateServer, StepsDownToANewerGenerationOnly) {
  TemporaryDirectory directory;
  auto first = StartServer(directory.path(), "leveldb", 5);
  ASSERT_TRUE(first->WaitUntilServing(DeadlineAfter(kPatience)));
  auto client = StartClient(directory.path());
  RunTurn(*client, "t", "", {UserMessage("m1")});
  auto older = StartServer(directory.path(), "leveldb", 4);
  auto newer = StartServer(directory.path(), "leveldb", 6);
  ASSERT_TRUE(newer->WaitUntilServing(DeadlineAfter(kPatience)));
  EXPECT_FALSE(first->WaitUntilServing(MonotonicClock::now()));
  RunTurn(*client, "t", "", {UserMessage("m2")});
  newer->Finish(MonotonicClock::now());  // now one of the others serves
  RunTurn(*client, "t", "", {UserMessage("m3")});
  EXPECT_THAT(Ids(client->GetState(Scope::All(), "t")->window), ElementsAre("m1", "m2", "m3"));
}

// Fills the database: the first search of each state server reads all memories, which takes some
// time.
void FillMemories(const std::string& directory) {
  auto database = Database::OpenDirectory(directory + "/db");
  ASSERT_TRUE(database.ok());
  leveldb::WriteBatch batch;
  const Embedding embedding{"test", std::string(64 * sizeof(float), '\0')};
  for (uint64_t number = 1; number <= 20'000; ++number) {
    MemoryRecord record;
    record.id = std::to_string(number);
    record.owner = "alice";
    record.content = "tea";
    const MemoryKey key{"alice", number};
    batch.Put(keys::Memory(key), pack::ToBytes(record));
    batch.Put(keys::MemoryVector(key), pack::ToBytes(embedding));
  }
  ASSERT_TRUE((*database)->Write(batch, true).ok());
}

TEST(StateServer, WhatItInterruptsWhenItLeavesIsAskedOfTheNext) {
  TemporaryDirectory directory;
  FillMemories(directory.path());
  auto client = StartClient(directory.path());
  std::atomic<bool> done{false};
  std::atomic<int> found{0};
  auto search = [&] {
    SearchMemoriesRequest query;
    query.scope = Scope::Owner("alice");
    query.embedding = {"test", std::string(64 * sizeof(float), '\1')};
    while (!done) {
      Result<MemoryHits> hits = client->SearchMemories(query);
      EXPECT_TRUE(hits.ok()) << hits.status().ToString();
      ++found;
    }
  };
  auto verify = [&] {
    while (!done) {
      Result<VerifyReport> report = client->Verify();
      EXPECT_TRUE(report.ok()) << report.status().ToString();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(search);
  threads.emplace_back(verify);
  std::unique_ptr<StateServer> server;
  uint64_t generation = 0;
  auto replace_server = [&] {
    auto next = StartServer(directory.path(), "leveldb", ++generation);
    EXPECT_TRUE(next->WaitUntilServing(DeadlineAfter(kPatience)));
    server = std::move(next);
  };
  for (int round = 0; round < 4; ++round) {
    // The second one starts while the first one is still reading.
    replace_server();
    replace_server();
    const int before = found;
    const Deadline patience = DeadlineAfter(kPatience);
    while (found == before && MonotonicClock::now() < patience) std::this_thread::yield();
    EXPECT_GT(found, before);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(StateServer, FinishServesUntilTheLastClientHasGone) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path());
  auto client = StartClient(directory.path());
  RunTurn(*client, "t", "", {UserMessage("m1")});
  std::atomic<bool> finished{false};
  std::thread finishing([&] {
    server->Finish(DeadlineAfter(kPatience));
    finished = true;
  });
  for (int i = 0; i < 20; ++i) RunTurn(*client, "t", "", {});
  EXPECT_FALSE(finished);
  client->Stop();
  finishing.join();
}

TEST(StateServer, CandidateThatFinishesDoesNotWait) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path(), "leveldb", 2);
  ASSERT_TRUE(server->WaitUntilServing(DeadlineAfter(kPatience)));
  auto candidate = StartServer(directory.path(), "leveldb", 1);
  candidate->Finish(kNoDeadline);
}

// A restart of the server would lose the content of an in-memory database.
TEST(StateServer, MakesItsSocketAnewAndKeepsWhatItServes) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path(), "memory");
  auto client = StartClient(directory.path());
  RunTurn(*client, "t", "", {UserMessage("m1")});
  std::vector<std::filesystem::path> sockets;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    if (entry.path().extension() == ".sock") sockets.push_back(entry.path());
  }
  ASSERT_EQ(sockets.size(), 2);
  for (const auto& path : sockets) std::filesystem::remove(path);
  auto late = StartClient(directory.path());
  EXPECT_TRUE(late->GetThread(Scope::All(), "t").ok());
  EXPECT_TRUE(client->GetThread(Scope::All(), "t").ok());
}

TEST(StateServer, UnusableDatabaseAnswersUnavailable) {
  TemporaryDirectory directory;
  std::ofstream(directory.path() + "/db") << "not a directory";
  runtime::Promise<std::string> alert;
  StateOptions options;
  options.directory = directory.path();
  options.log = [&](LogLevel level, const std::string& text) {
    if (level == LogLevel::kAlert) alert.Set(text);
  };
  Result<std::unique_ptr<StateServer>> server = StartStateServer(options);
  ASSERT_TRUE(server.ok());
  Result<std::string> text = alert.Wait(nullptr, DeadlineAfter(kPatience));
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("not available"));
  auto client = StartClient(directory.path());
  EXPECT_EQ(client->GetThread(Scope::All(), "t").status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(client->BeginRun(RunOn("t"), nullptr).status().code(), StatusCode::kUnavailable);
}

// What was there has been lost: an empty database would look as if nothing had been stored.
TEST(StateServer, ThatStandsInMakesNoDatabase) {
  TemporaryDirectory parent;
  runtime::Promise<std::string> alert;
  StateOptions options;
  options.directory = parent.path() + "/state";
  options.generation = 0;
  options.creates = false;
  options.log = [&](LogLevel level, const std::string& text) {
    if (level == LogLevel::kAlert) alert.Set(text);
  };
  EXPECT_FALSE(StartStateServer(options).ok());
  EXPECT_FALSE(std::filesystem::exists(options.directory));
  ASSERT_EQ(mkdir(options.directory.c_str(), 0700), 0);
  Result<std::unique_ptr<StateServer>> server = StartStateServer(options);
  ASSERT_TRUE(server.ok());
  Result<std::string> text = alert.Wait(nullptr, DeadlineAfter(kPatience));
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("not available"));
  EXPECT_FALSE(std::filesystem::exists(options.directory + "/db"));
}

TEST(Client, FailsWithoutAnOwnerAndAsksForOne) {
  TemporaryDirectory directory;
  std::unique_ptr<StateServer> stand_in;
  StateOptions options;
  options.directory = directory.path();
  options.operation_timeout = std::chrono::milliseconds(10);
  options.server_wait = std::chrono::milliseconds(0);
  runtime::Promise<bool> asked;
  options.on_server_missing = [&] { asked.Set(true); };
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  EXPECT_EQ(client.GetThread(Scope::All(), "t").status().code(), StatusCode::kUnavailable);
  ASSERT_TRUE(asked.Wait(nullptr, DeadlineAfter(kPatience)).ok());
}

TEST(Client, FailsInTimeAgainstAnOwnerThatHangs) {
  TemporaryDirectory directory;
  ChildProcess server("Child.DISABLED_Serves", directory.path());
  auto patient = StartClient(directory.path());
  RunTurn(*patient, "t", "", {UserMessage("m1")});
  server.Freeze();
  StateOptions options;
  options.directory = directory.path();
  options.operation_timeout = std::chrono::milliseconds(100);
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  BeginRunRequest run = RunOn("t");
  run.wait_ms_max = 3'600'000;  // counts only after the server has queued it
  EXPECT_EQ(client.BeginRun(run, nullptr).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(client.GetThread(Scope::All(), "t").status().code(), StatusCode::kUnavailable);
}

// If each client waited separately, the test would exceed its time limit.
TEST(Client, WaitsOnceForAnOwnerThatHangs) {
  TemporaryDirectory directory;
  ChildProcess server("Child.DISABLED_Serves", directory.path());
  auto patient = StartClient(directory.path());
  RunTurn(*patient, "t", "", {UserMessage("m1")});
  StateOptions options;
  options.directory = directory.path();
  options.operation_timeout = std::chrono::milliseconds(3000);
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  while (!client.GetThread(Scope::All(), "t").ok()) std::this_thread::yield();
  server.Freeze();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(client.GetThread(Scope::All(), "t").status().code(), StatusCode::kUnavailable);
  }
  server.Thaw();
  while (!client.GetThread(Scope::All(), "t").ok()) std::this_thread::yield();
}

TEST(Client, QueuedRunMayWaitLongerThanOtherOperations) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path());
  auto holder = StartClient(directory.path());
  ASSERT_TRUE(holder->BeginRun(RunOn("t"), nullptr).ok());
  StateOptions options;
  options.directory = directory.path();
  options.operation_timeout = std::chrono::milliseconds(1000);
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  // The reply comes from the server, after the time limit of other operations. If a loaded machine
  // delays the server, the client tries again.
  StatusCode code = StatusCode::kUnavailable;
  while (code == StatusCode::kUnavailable) {
    BeginRunRequest run = RunOn("t");
    run.wait_ms_max = 1300;
    code = client.BeginRun(run, nullptr).status().code();
  }
  EXPECT_EQ(code, StatusCode::kBusy);
}

TEST(Client, RunThatNobodyWaitsForIsReleased) {
  TemporaryDirectory directory;
  StateOptions options;
  options.directory = directory.path();
  options.operation_timeout = std::chrono::milliseconds(10);
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  BeginRunRequest run = RunOn("t");
  run.wait_ms_max = 0;
  EXPECT_EQ(client.BeginRun(run, nullptr).status().code(), StatusCode::kUnavailable);
  auto server = StartServer(directory.path());
  auto other = StartClient(directory.path());
  EXPECT_TRUE(other->BeginRun(RunOn("t"), nullptr).ok());
}

// Retries like a client that was asked to try later.
void ExpectThatItBegins(Client& client, const BeginRunRequest& run) {
  for (;;) {
    const Status status = client.BeginRun(run, nullptr).status();
    if (status.ok()) return;
    ASSERT_EQ(status.code(), StatusCode::kUnavailable) << status.ToString();
    std::this_thread::yield();
  }
}

TEST(Client, RunThatFailedForWantOfAnOwnerMayBeAskedForAgain) {
  TemporaryDirectory directory;
  StateOptions options;
  options.directory = directory.path();
  options.operation_timeout = std::chrono::milliseconds(1000);
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  const BeginRunRequest waited = RunOn("waited");
  const BeginRunRequest refused = RunOn("refused");  // at once: there was no server for too long
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(client.BeginRun(waited, nullptr).status().code(), StatusCode::kUnavailable);
    EXPECT_EQ(client.BeginRun(refused, nullptr).status().code(), StatusCode::kUnavailable);
  }
  auto server = StartServer(directory.path());
  ExpectThatItBegins(client, waited);
  ExpectThatItBegins(client, refused);
}

TEST(Client, RunWhoseEndWasNotAnsweredMayBeAskedForAgain) {
  TemporaryDirectory directory;
  ChildProcess server("Child.DISABLED_Serves", directory.path());
  RunTurn(*StartClient(directory.path()), "t", "", {UserMessage("m1")});
  StateOptions options;
  options.directory = directory.path();
  options.operation_timeout = std::chrono::milliseconds(1000);
  Client client(options);
  ASSERT_TRUE(client.Start().ok());
  const BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = client.BeginRun(run, nullptr);
  while (!begun.ok()) begun = client.BeginRun(run, nullptr);
  server.Freeze();
  EXPECT_EQ(client.FinishRun(FinishOf(run, *begun)).code(), StatusCode::kUnavailable);
  EXPECT_EQ(client.BeginRun(run, nullptr).status().code(), StatusCode::kUnavailable);
  server.Thaw();
  ExpectThatItBegins(client, run);
}

TEST(StateServer, DeletesThreadsThatNothingHappensOn) {
  TemporaryDirectory directory;
  StateOptions options;
  options.directory = directory.path();
  options.thread_ttl = std::chrono::seconds(1);
  auto server = StartStateServer(options);
  ASSERT_TRUE(server.ok());
  auto client = StartClient(directory.path());
  BeginRunRequest held = RunOn("held", "alice");
  auto begun = client->BeginRun(held, nullptr);
  ASSERT_TRUE(begun.ok());
  for (int i = 0; i < 150; ++i) {
    RunTurn(*client, Numbered("t", i), "alice", {UserMessage("m")});
  }
  const Deadline patience = DeadlineAfter(kPatience);
  for (size_t left = 0; left != 1 && MonotonicClock::now() < patience;) {
    auto page = client->ListThreads(Scope::Owner("alice"), Page(0));
    ASSERT_TRUE(page.ok());
    left = page->threads.size();
  }
  // A run keeps its thread; all other threads are deleted.
  EXPECT_TRUE(client->GetThread(Scope::All(), "held").ok());
  EXPECT_EQ(client->GetState(Scope::All(), "t0").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(client->FinishRun(FinishOf(held, *begun, {UserMessage("m")})).ok());
  client->Stop();
}

}  // namespace
}  // namespace agent_graph::state
