// The state server's role: takeover, handover, and their effects on clients.
#include <gmock/gmock.h>
#include <leveldb/write_batch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "../fixture.h"
#include "state/leveldb/database/database.h"
#include "state/requests.h"
#include "state/store/memories.h"
#include "state/verify/verify.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
  auto database = LevelDatabase::OpenDirectory(directory + "/db");
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

// The data is lost: an empty database would look as if nothing had been stored.
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
