// The store without a server: repeated operations, leases and pauses.
#include "state/store/store.h"

#include <gtest/gtest.h>

#include "../requests.h"
#include "state/requests.h"
#include "state/store/format.h"
#include "state/store/memory_rows.h"
#include "state/store/reader.h"
#include "state/thread/listing.h"
#include "state/thread/thread_read.h"
#include "store_fixture.h"

namespace agent_graph::state {
namespace {

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

TEST_F(StoreTest, AnEndThatIsSentAgainIsDoneOnce) {
  const BeginRunRequest run = RunOn("t", "", "run");
  BeginRunReply begun;
  begun.lease_epoch = 1;
  FinishRunRequest finish = FinishOf(run, begun);
  finish.append.entries = {{"run_finished", "{}", 0}};
  Apply(1, Operation::kBeginRun, run);
  Apply(2, Operation::kFinishRun, finish);
  Apply(2, Operation::kFinishRun, finish);  // on a new connection, before the commit
  for (const StoreReply& reply : Commit()) EXPECT_TRUE(reply.status.ok());
  // No client was notified of it.
  Open();
  Apply(2, Operation::kFinishRun, finish);
  EXPECT_TRUE(Commit().at(0).status.ok());
  EXPECT_EQ(LogKinds(), std::vector<std::string>{"run_finished"});
  finish.append.lease_epoch = 2;
  Apply(3, Operation::kFinishRun, finish);
  EXPECT_EQ(Commit().at(0).status.code(), StatusCode::kFenced);
}

TEST_F(StoreTest, AStateOfALaterFormatIsNotOpened) {
  Commit();
  const std::string key = keys::Meta(kFormatName);
  Transaction transaction(*database_);
  EXPECT_EQ(**transaction.GetRow<uint64_t>(key), kStateFormat);
  transaction.PutRow(key, kStateFormat + 1);
  transaction.Accept(false);
  ASSERT_TRUE(transaction.Commit().ok());
  const Status loaded = Store(*database_, options_).Load();
  EXPECT_EQ(loaded.code(), StatusCode::kUnavailable);
  EXPECT_NE(loaded.message().find("a later version"), std::string::npos);
}

TEST_F(StoreTest, TheEndOfARunThatWasLostIsRefused) {
  const BeginRunRequest run = RunOn("t", "", "lost");
  Apply(1, Operation::kBeginRun, run);
  Commit();
  Open();  // the client does not hold it any more
  BeginRunReply begun;
  begun.lease_epoch = 1;
  Apply(2, Operation::kFinishRun, FinishOf(run, begun));
  EXPECT_EQ(Commit().at(0).status.code(), StatusCode::kFenced);
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
  const StoredMemoryRows memory_rows(*database_);
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
  constexpr int kTurns = kHeld / 100 + 1 + 1;  // the last portion, and a ping to the holder
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
  store_->Leave("client", 1);
  Commit();
  EXPECT_EQ(Execution(), kPaused);
  EXPECT_EQ(LogKinds(), (std::vector<std::string>{"run_finished", "run_finished"}));
}

TEST_F(StoreTest, AWorkerThatIsLostAfterItsRunDidSomethingLeavesNone) {
  Pause();
  Resume(/*intent=*/true);
  store_->Leave("client", 1);
  Commit();
  EXPECT_EQ(Execution(),
            R"({"current_node":"NODE","step":1,"status":"error","reason":"worker_lost"})");
}

// The clock of a client may stand still, or go back.
TEST_F(StoreTest, ChangesAtTheSameTimeAreToldApart) {
  Apply(1, Operation::kAppendMessages, MessagesOn("t", "", {UserMessage("a"), UserMessage("b")}));
  Commit();
  RemoveMessagesRequest remove;
  remove.thread_id = "t";
  remove.updated_micros =
      ReadThread(DatabaseSnapshot(*database_), Scope::All(), "t")->updated_micros;
  remove.message_ids = {"b"};
  Apply(2, Operation::kAppendMessages, MessagesOn("t", "", {UserMessage("c")}));
  Apply(3, Operation::kRemoveMessages, remove);
  const std::vector<StoreReply> replies = Commit();
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies.back().status.code(), StatusCode::kBusy);
}

}  // namespace
}  // namespace agent_graph::state
