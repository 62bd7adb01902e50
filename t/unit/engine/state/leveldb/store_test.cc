// The store without a server: repeated operations and background deletion.
#include "state/leveldb/store.h"

#include <gtest/gtest.h>

#include "../requests.h"
#include "state/leveldb/listing.h"
#include "state/leveldb/maintenance/maintenance.h"
#include "state/leveldb/memory_rows.h"
#include "state/leveldb/reader.h"
#include "state/leveldb/thread_read.h"
#include "state/requests.h"

namespace agent_graph::state {
namespace {

constexpr char kPaused[] = R"({"status":"interrupted_before","resume_node":"TOOLS"})";

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Database>> database = Database::OpenMemory();
    ASSERT_TRUE(database.ok());
    database_ = *std::move(database);
    Open();
  }
  // Opens the store like a state server that takes over.
  void Open() {
    store_ = std::make_unique<Store>(*database_, options_);
    ASSERT_TRUE(store_->Load().ok());
    ClientHello hello;
    hello.client = "client";
    hello.process = getpid();
    hello.runs = {"run"};
    store_->Connect(hello, 1);
  }

  template <typename Body>
  void Apply(uint64_t sequence, Operation operation, const Body& body) {
    const std::string bytes = pack::ToBytes(body);
    pack::Unpacker unpacker(bytes);
    store_->Apply({"client", 1, sequence}, {sequence, 0, operation, now_micros_}, unpacker);
  }
  std::vector<StoreReply> Commit() {
    Result<std::vector<StoreReply>> replies = store_->Commit();
    EXPECT_TRUE(replies.ok());
    return replies.ok() ? *std::move(replies) : std::vector<StoreReply>();
  }

  bool HasThread(const std::string& thread_id) {
    return ReadThread(DatabaseSnapshot(*database_), Scope::All(), thread_id).ok();
  }
  // Executes the next timed work as if its time had come.
  void TickNext() {
    store_->Tick(store_->next_tick());
    Commit();
  }

  // A run leaves the thread paused before TOOLS.
  void Pause() {
    const BeginRunRequest run = RunOn("t", "", "pausing");
    Apply(1, Operation::kBeginRun, run);
    BeginRunReply begun;
    begun.lease_epoch = 1;
    FinishRunRequest finish = FinishOf(run, begun);
    finish.snapshot.execution_json = kPaused;
    Apply(2, Operation::kFinishRun, finish);
    for (const StoreReply& reply : Commit()) EXPECT_TRUE(reply.status.ok());
  }
  // A run that continues from there; with `intent`, it has logged that it executes a tool.
  void Resume(bool intent) {
    const BeginRunRequest run = RunOn("t", "", "run");
    Apply(3, Operation::kBeginRun, run);
    if (intent) {
      BeginRunReply begun;
      begun.lease_epoch = 2;
      AppendRunRequest append = AppendOf(run, begun);
      append.entries = {{"tool_intent", R"({"call_id":"call"})", 0}};
      Apply(4, Operation::kAppendRun, append);
    }
    for (const StoreReply& reply : Commit()) EXPECT_TRUE(reply.status.ok());
  }
  std::string Execution() {
    const DatabaseSnapshot snapshot(*database_);
    Result<ThreadRow> thread = ReadThread(snapshot, Scope::All(), "t");
    Result<ThreadState> state =
        thread.ok() ? ReadState(snapshot, "t", *thread) : Result<ThreadState>(thread.status());
    EXPECT_TRUE(state.ok() && !state->in_flight);
    return state.ok() ? state->snapshot.execution_json : "unread";
  }
  std::vector<std::string> LogKinds() {
    const DatabaseSnapshot snapshot(*database_);
    Result<ThreadRow> thread = ReadThread(snapshot, Scope::All(), "t");
    EXPECT_TRUE(thread.ok());
    std::vector<std::string> kinds;
    if (!thread.ok()) return kinds;
    Result<std::vector<LogEntry>> log = ReadLogEntries(snapshot, thread->key(), 0, 100);
    EXPECT_TRUE(log.ok());
    if (log.ok()) {
      for (const LogEntry& entry : *log) kinds.push_back(entry.kind);
    }
    return kinds;
  }

  int64_t now_micros_ = 1'000'000;  // time of applied operations: long ago
  StateOptions options_ = {.sync = SyncLevel::kNone};
  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, AppendsThatWereUnderWayTogetherAreDoneOnce) {
  const BeginRunRequest run = RunOn("t", "", "run");
  Apply(1, Operation::kBeginRun, run);
  ASSERT_TRUE(Commit().at(0).status.ok());
  BeginRunReply begun;
  begun.lease_epoch = 1;
  auto append = [&](uint64_t sequence) {
    AppendRunRequest step = AppendOf(run, begun);
    step.entries = {{"step", std::to_string(sequence), 0}};
    Apply(sequence, Operation::kAppendRun, step);
  };
  append(2);
  append(3);
  append(4);
  Commit();
  // No client was notified of it.
  Open();
  for (uint64_t sequence : {2, 3, 4, 5}) append(sequence);
  for (const StoreReply& reply : Commit()) {
    EXPECT_TRUE(reply.status.ok()) << reply.status.ToString();
  }
  const DatabaseSnapshot snapshot(*database_);
  Result<ThreadRow> thread = ReadThread(snapshot, Scope::All(), "t");
  ASSERT_TRUE(thread.ok());
  Result<std::vector<LogEntry>> log = ReadLogEntries(snapshot, thread->key(), 0, 100);
  ASSERT_TRUE(log.ok());
  std::vector<std::string> steps;
  for (const LogEntry& entry : *log) steps.push_back(entry.json);
  EXPECT_EQ(steps, (std::vector<std::string>{"2", "3", "4", "5"}));
}

TEST_F(StoreTest, RunsThatWaitedForTheOwnerBeforeAreNotShown) {
  Apply(1, Operation::kBeginRun, RunOn("t", "", "run"));
  Apply(2, Operation::kBeginRun, RunOn("t", "", "waiting"));
  Commit();
  auto queued_runs = [this] {
    const DatabaseSnapshot snapshot(*database_);
    Result<ThreadRow> thread = ReadThread(snapshot, Scope::All(), "t");
    Result<ThreadState> state =
        thread.ok() ? ReadState(snapshot, "t", *thread) : Result<ThreadState>(thread.status());
    EXPECT_TRUE(state.ok() && state->in_flight);
    return state.ok() && state->in_flight ? state->in_flight->queued_runs
                                          : std::vector<std::string>{"unread"};
  };
  EXPECT_EQ(queued_runs(), std::vector<std::string>{"waiting"});
  Open();
  Commit();
  EXPECT_EQ(queued_runs(), std::vector<std::string>());
}

// The thread in a reply is read after the commit, and again when the reply is repeated.
TEST_F(StoreTest, ARunIsNotGivenTheThreadOfSomebodyElse) {
  Apply(1, Operation::kAppendMessages, MessagesOn("t", "alice", {UserMessage("hers")}));
  Apply(2, Operation::kBeginRun, RunOn("t", "alice", "run"));
  const ReplyRow begun = Commit().back().reply;
  PutStateRequest put;
  put.scope = Scope::Owner("alice");
  put.user_id = "alice";
  put.thread_id = "t";
  put.creation_id = "unused";
  Apply(3, Operation::kPutState, put);
  const ReplyRow written = Commit().back().reply;
  ListingHeads heads(*database_);
  const LevelDbMemoryRows memory_rows(*database_);
  MemoryIndex memories(memory_rows, "", 0);
  const Reader reader(*database_, heads, memories, "", store_->longest_wait_micros());
  EXPECT_TRUE(reader.Load(begun).ok());
  EXPECT_TRUE(reader.Load(written).ok());

  Apply(4, Operation::kDeleteThread, ThreadRequest{Scope::Owner("alice"), "t"});
  Commit();
  EXPECT_EQ(reader.Load(begun).status().code(), StatusCode::kFenced);
  EXPECT_EQ(reader.Load(written).status().code(), StatusCode::kNotFound);
  Apply(5, Operation::kAppendMessages, MessagesOn("t", "bob", {UserMessage("his")}));
  Commit();
  ASSERT_TRUE(HasThread("t"));
  EXPECT_EQ(reader.Load(begun).status().code(), StatusCode::kFenced);
  EXPECT_EQ(reader.Load(written).status().code(), StatusCode::kNotFound);
}

// Otherwise a portion of 100 would contain only threads that runs keep, again and again.
TEST_F(StoreTest, ThreadsExpireBehindAnyNumberThatRunsKeep) {
  options_.thread_ttl = std::chrono::seconds(1);
  Open();
  constexpr int kHeld = 250;
  constexpr int kTurns = kHeld / 100 + 1 + 1;  // the last portion, and a ping to who holds them
  uint64_t sequence = 0;
  for (int i = 0; i < kHeld; ++i) {
    Apply(++sequence, Operation::kBeginRun, RunOn(Numbered("held", i), "", Numbered("run", i)));
  }
  now_micros_ += 1'000'000;
  for (const char* thread_id : {"idle", "idle too"}) {
    Apply(++sequence, Operation::kAppendMessages, MessagesOn(thread_id, "", {UserMessage("m")}));
  }
  Commit();
  for (int turn = 0; turn < kTurns; ++turn) TickNext();
  EXPECT_FALSE(HasThread("idle"));
  EXPECT_FALSE(HasThread("idle too"));
  EXPECT_TRUE(HasThread("held0"));
  // After its run has ended it is the oldest one, and the next pass deletes it.
  Apply(++sequence, Operation::kReleaseRun, ReleaseRunRequest{"held0", "run0"});
  for (int turn = 0; turn < kTurns; ++turn) TickNext();
  EXPECT_FALSE(HasThread("held0"));
  EXPECT_TRUE(HasThread("held1"));
}

// Otherwise the next run would execute the tool again.
TEST_F(StoreTest, ARunThatCannotStoreItsEndLeavesNoPauseBehindWhatItDid) {
  Pause();
  Resume(/*intent=*/true);
  Apply(5, Operation::kReleaseRun, ReleaseRunRequest{"t", "run"});
  Commit();
  EXPECT_EQ(Execution(),
            R"({"current_node":"NODE","step":1,"status":"error","reason":"end_not_stored"})");
  EXPECT_EQ(LogKinds(), (std::vector<std::string>{"run_finished", "tool_intent", "run_finished"}));
}

TEST_F(StoreTest, ARunThatIsReleasedBeforeItDidAnythingLeavesThePause) {
  Pause();
  Resume(/*intent=*/false);
  Apply(5, Operation::kReleaseRun, ReleaseRunRequest{"t", "run"});
  Commit();
  EXPECT_EQ(Execution(), kPaused);
  EXPECT_EQ(LogKinds(), std::vector<std::string>{"run_finished"});
}

TEST_F(StoreTest, AWorkerThatIsLostBeforeItsRunDidAnythingLeavesThePause) {
  Pause();
  Resume(/*intent=*/false);
  store_->Leave("client");
  Commit();
  EXPECT_EQ(Execution(), kPaused);
  EXPECT_EQ(LogKinds(), (std::vector<std::string>{"run_finished", "run_finished"}));
}

TEST_F(StoreTest, AWorkerThatIsLostAfterItsRunDidSomethingLeavesNone) {
  Pause();
  Resume(/*intent=*/true);
  store_->Leave("client");
  Commit();
  EXPECT_EQ(Execution(),
            R"({"current_node":"NODE","step":1,"status":"error","reason":"worker_lost"})");
}

TEST_F(StoreTest, DeletedThreadsAreSweptToTheLastRow) {
  uint64_t sequence = 0;
  // Portions have 256 rows: test fewer, exactly as many in a table, and more.
  for (const int messages : {3, 256, 1000}) {
    std::vector<StoredMessage> all;
    for (int i = 0; i < messages; ++i) all.push_back(UserMessage(Numbered("m", i)));
    const std::string thread_id = Numbered("t", messages);
    Apply(++sequence, Operation::kAppendMessages, MessagesOn(thread_id, "", all));
    Apply(++sequence, Operation::kDeleteThread, ThreadRequest{Scope::All(), thread_id});
    Commit();
  }
  for (int portion = 0; store_->wants_sweep(); ++portion) {
    ASSERT_LT(portion, 100);
    store_->Sweep();
    Commit();
  }
  std::vector<keys::Table> left;
  ASSERT_TRUE(database_
                  ->Scan({}, {}, nullptr,
                         [&](std::string_view key, std::string_view) {
                           left.push_back(static_cast<keys::Table>(key[0]));
                           return true;
                         })
                  .ok());
  for (keys::Table table : left) {
    EXPECT_TRUE(table == keys::Table::kMeta || table == keys::Table::kReply)
        << static_cast<int>(table);
  }
}

// Like the write thread right after it has applied an operation.
TEST_F(StoreTest, WhatIsDeletedRightBeforeASweepIsSweptByTheNextOne) {
  Apply(1, Operation::kAppendMessages, MessagesOn("t", "", {UserMessage("m")}));
  Commit();
  Apply(2, Operation::kDeleteThread, ThreadRequest{Scope::All(), "t"});
  store_->Sweep();
  Commit();
  for (int portion = 0; store_->wants_sweep(); ++portion) {
    ASSERT_LT(portion, 100);
    store_->Sweep();
    Commit();
  }
  const std::string prefix = keys::TablePrefix(keys::Table::kMessage);
  int left = 0;
  ASSERT_TRUE(database_
                  ->Scan(prefix, keys::PrefixEnd(prefix), nullptr,
                         [&](std::string_view, std::string_view) { return ++left > 0; })
                  .ok());
  EXPECT_EQ(left, 0);
}

// --- how long logs are kept --------------------------------------------------------------------

class LogRetentionTest : public StoreTest {
 protected:
  static constexpr int64_t kDayMicros = int64_t{24} * 3600 * 1'000'000;

  // A run with three entries.
  void RunOnce(size_t entry_bytes = 10) {
    const BeginRunRequest run = RunOn("t", "", Numbered("r", ++runs_));
    Apply(++sequence_, Operation::kBeginRun, run);
    BeginRunReply begun;
    begun.lease_epoch = static_cast<uint64_t>(runs_);
    FinishRunRequest finish = FinishOf(run, begun);
    finish.append.entries = {{"run_started", "{}", 0},
                             {"step", std::string(entry_bytes, 'x'), 0},
                             {"run_finished", "{}", 0}};
    Apply(++sequence_, Operation::kFinishRun, finish);
    for (const StoreReply& reply : Commit()) EXPECT_TRUE(reply.status.ok());
    while (store_->wants_sweep()) {
      store_->Sweep();
      Commit();
    }
  }
  void Run(int runs) {
    for (int i = 0; i < runs; ++i) RunOnce();
  }
  // The number of runs whose entries are kept.
  size_t RunsInLog() {
    const DatabaseSnapshot snapshot(*database_);
    const Result<ThreadRow> thread = ReadThread(snapshot, Scope::All(), "t");
    const auto log = ReadLogEntries(snapshot, thread->key(), 0, 100'000);
    EXPECT_TRUE(log.ok());
    return log->size() / 3;
  }

  int runs_ = 0;
  uint64_t sequence_ = 0;
};

TEST_F(LogRetentionTest, YoungRunsAreKept) {
  Run(200);
  EXPECT_EQ(RunsInLog(), 200u);
}

TEST_F(LogRetentionTest, OldOnesAreCutOffAndTheLatestStay) {
  Run(200);
  now_micros_ += kDayMicros + 1;
  Run(16);  // a mark
  EXPECT_GE(RunsInLog(), 32u);
  EXPECT_LE(RunsInLog(), 48u);
}

TEST_F(LogRetentionTest, BytesAreBounded) {
  options_.log_bytes_max = 100'000;
  Open();
  for (int i = 0; i < 120; ++i) RunOnce(1000);
  EXPECT_GE(RunsInLog(), 84u);
  EXPECT_LE(RunsInLog(), 116u);
}

TEST_F(LogRetentionTest, RunsAreBounded) {
  Run(1100);
  EXPECT_GE(RunsInLog(), 980u);
  EXPECT_LE(RunsInLog(), 1020u);
}

// --- the index of metadata --------------------------------------------------------------------

class MetadataIndexTest : public StoreTest {
 protected:
  void Write(const std::string& thread_id, const std::string& metadata_json) {
    AppendMessagesRequest append = MessagesOn(thread_id, "", {});
    append.metadata_json = metadata_json;
    Apply(++sequence_, Operation::kAppendMessages, append);
    Commit();
  }
  std::vector<std::string> Find(const std::string& tenant) {
    ListThreadsRequest list;
    list.page.metadata = {{"tenant", tenant}};
    const Result<ThreadPage> page = ReadThreadPage(DatabaseSnapshot(*database_), list);
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    std::vector<std::string> ids;
    for (const ThreadRecord& thread : page->threads) ids.push_back(thread.thread_id);
    return ids;
  }
  // A state server with other settings takes over, and does what it does in the background.
  void Reopen(std::vector<std::string> names) {
    options_.indexed_metadata = std::move(names);
    Open();
    for (int i = 0; i < 20; ++i) TickNext();
  }

  uint64_t sequence_ = 0;
};

TEST_F(MetadataIndexTest, ThreadsThatExistAlreadyAreIndexedInTheBackground) {
  for (int i = 0; i < 250; ++i) Write(Numbered("t", i), R"({"tenant":"x"})");
  EXPECT_TRUE(Find("x").empty());
  Reopen({"tenant"});
  EXPECT_EQ(Find("x").size(), 100u) << "a page";
  EXPECT_EQ(Verify(*database_)->problem_count, 0u);
}

TEST_F(MetadataIndexTest, WhatIsWrittenWithoutTheIndexIsIndexedLater) {
  Reopen({"tenant"});
  Write("a", R"({"tenant":"x"})");
  Write("b", R"({"tenant":"x"})");
  Reopen({});
  Write("a", R"({"tenant":"y"})");
  EXPECT_EQ(Find("x"), std::vector<std::string>{"b"}) << "a row of the index is old";
  Reopen({"tenant", "topic"});
  EXPECT_EQ(Find("x"), std::vector<std::string>{"b"});
  EXPECT_EQ(Find("y"), std::vector<std::string>{"a"});
  EXPECT_EQ(Verify(*database_)->problem_count, 0u);
}

}  // namespace
}  // namespace agent_graph::state
