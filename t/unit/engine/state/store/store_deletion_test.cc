// Background deletion in the store: threads and logs of old runs. Its index of metadata.
#include <gtest/gtest.h>

#include "../requests.h"
#include "state/requests.h"
#include "state/store/store.h"
#include "state/thread/listing.h"
#include "state/thread/run_read.h"
#include "state/thread/thread_read.h"
#include "state/verify/verify.h"
#include "store_fixture.h"

namespace agent_graph::state {
namespace {

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
  SweepAll();
  std::vector<keys::Table> left;
  ASSERT_TRUE(database_
                  ->Scan({}, {},
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

TEST_F(StoreTest, ASweepTakesManySmallThreads) {
  uint64_t sequence = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string thread_id = Numbered("t", i);
    Apply(++sequence, Operation::kAppendMessages, MessagesOn(thread_id, "", {UserMessage("m")}));
    Apply(++sequence, Operation::kDeleteThread, ThreadRequest{Scope::All(), thread_id});
    Commit();
  }
  EXPECT_LE(SweepAll(), 30);
  EXPECT_EQ(RowsOf(keys::Table::kDeleted), 0);
  EXPECT_EQ(RowsOf(keys::Table::kMessage), 0);
}

// The write thread does nothing else meanwhile.
TEST_F(StoreTest, ASweepReadsFewBytes) {
  StoredMessage large = UserMessage("");
  large.json = R"({"role":"user","content":")" + std::string(400'000, 'x') + "\"}";
  std::vector<StoredMessage> messages;
  for (int i = 0; i < 20; ++i) {
    large.id = Numbered("m", i);
    messages.push_back(large);
  }
  Apply(1, Operation::kAppendMessages, MessagesOn("t", "", messages));
  Commit();
  Apply(2, Operation::kDeleteThread, ThreadRequest{Scope::All(), "t"});
  Commit();
  store_->Sweep();
  Commit();
  EXPECT_EQ(RowsOf(keys::Table::kMessage), 17);
  SweepAll();
  EXPECT_EQ(RowsOf(keys::Table::kMessage), 0);
}

// The threads of an owner come before those of others.
TEST_F(StoreTest, AThreadThatIsDeletedBehindASweepIsSweptByTheNextPass) {
  uint64_t sequence = 0;
  for (int i = 0; i < 100; ++i) {
    Apply(++sequence, Operation::kAppendMessages,
          MessagesOn(Numbered("t", i), "zoe", {UserMessage("m")}));
    Apply(++sequence, Operation::kDeleteThread, ThreadRequest{Scope::All(), Numbered("t", i)});
  }
  Apply(++sequence, Operation::kAppendMessages, MessagesOn("t", "anna", {UserMessage("m")}));
  Commit();
  store_->Sweep();
  Commit();
  EXPECT_TRUE(store_->wants_sweep());
  Apply(++sequence, Operation::kDeleteThread, ThreadRequest{Scope::All(), "t"});
  Commit();
  SweepAll();
  EXPECT_EQ(RowsOf(keys::Table::kMessage), 0);
}

// Otherwise a busy service would look again and again at what it has deleted.
TEST_F(StoreTest, ASweepEndsWhileOtherRowsAreWritten) {
  Apply(1, Operation::kAppendMessages, MessagesOn("t", "", {UserMessage("m")}));
  Apply(2, Operation::kDeleteThread, ThreadRequest{Scope::All(), "t"});
  Commit();
  SweepAll();
  Apply(3, Operation::kAppendMessages, MessagesOn("u", "", {UserMessage("m")}));
  store_->Sweep();
  EXPECT_FALSE(store_->wants_sweep());
}

// The write thread sweeps right after it has applied an operation.
TEST_F(StoreTest, WhatIsDeletedRightBeforeASweepIsSweptByTheNextOne) {
  Apply(1, Operation::kAppendMessages, MessagesOn("t", "", {UserMessage("m")}));
  Commit();
  Apply(2, Operation::kDeleteThread, ThreadRequest{Scope::All(), "t"});
  store_->Sweep();
  Commit();
  SweepAll();
  EXPECT_EQ(RowsOf(keys::Table::kMessage), 0);
}

// A repair marks what a thread without a record has left.
TEST_F(StoreTest, WhatIsLeftInTheIndexIsSwept) {
  const keys::ThreadKey thread{"", 7};
  const std::string indexed = keys::IndexedThread(thread);
  const std::unique_ptr<RowBatch> batch = database_->NewBatch();
  batch->Put(keys::Deleted(thread), {});
  batch->Put(indexed, pack::ToBytes(IndexedThreadRow{.updated_micros = 1}));
  ASSERT_TRUE(database_->WriteRows(*batch, WriteSync::kNone).ok());
  Open();
  SweepAll();
  const Result<std::optional<std::string>> left = database_->Get(indexed);
  ASSERT_TRUE(left.ok());
  EXPECT_FALSE(*left);
}

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
    SweepAll();
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

TEST_F(LogRetentionTest, AnOperatorMayKeepThemLongerWithTheirRecords) {
  options_.log_kept = std::chrono::hours(3 * 24);
  Open();
  Run(200);
  now_micros_ += 2 * kDayMicros;
  Run(16);
  EXPECT_EQ(RunsInLog(), 216u);
  EXPECT_TRUE(ReadRun(DatabaseSnapshot(*database_), {Scope::All(), "t", "r1"}).ok());
  now_micros_ += 2 * kDayMicros;
  Run(16);
  EXPECT_EQ(ReadRun(DatabaseSnapshot(*database_), {Scope::All(), "t", "r1"}).status().code(),
            StatusCode::kNotFound);
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
  EXPECT_GE(RunsInLog(), 752u);
  EXPECT_LE(RunsInLog(), 1020u);
}

// All kept runs are read rarely, and still no bound is missed.
TEST_F(LogRetentionTest, BytesOfAThreadWithManyRunsAreBounded) {
  options_.log_bytes_max = 100'000;
  Open();
  Run(520);
  for (int i = 0; i < 48; ++i) RunOnce(10'000);
  EXPECT_LE(RunsInLog(), 64u);
}

TEST_F(LogRetentionTest, OldRunsOfAThreadWithManyAreCutOff) {
  Run(600);
  for (int day = 0; day < 32; ++day) {
    now_micros_ += kDayMicros + 1;
    RunOnce();
  }
  EXPECT_LE(RunsInLog(), 64u);
}

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
