// Accepted runs whose attempts are lost one after the other, in a store without clients: when they
// end, and which messages of earlier connections and attempts are ignored.
#include <gmock/gmock.h>
#include <leveldb/write_batch.h>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "../requests.h"
#include "state/requests.h"
#include "state/rules/lost_run.h"
#include "state/thread/run_read.h"
#include "state/thread/thread_read.h"
#include "store_in_memory.h"

namespace agent_graph::state {
namespace {

using testing::SizeIs;

constexpr char kWorker[] = "worker";
constexpr int kManyAttempts = 250;

class LostAttemptsTest : public StoreInMemory {
 protected:
  // The worker sends Hello on its next connection.
  void Connect(std::vector<HeldRun> held = {}) {
    store_->Connect({.client = kWorker,
                     .process = getpid(),
                     .held = std::move(held),
                     .answers_pings = true,
                     .takes_runs = true},
                    ++connection_);
    Commit();
  }
  template <typename Body>
  Status Send(Operation operation, const Body& body,
              std::optional<uint64_t> connection = std::nullopt) {
    const std::string bytes = pack::ToBytes(body);
    pack::Unpacker unpacker(bytes);
    store_->Apply({kWorker, connection.value_or(connection_), ++sequence_},
                  {sequence_, 0, operation, UnixMicros()}, unpacker);
    const std::vector<StoreReply> replies = Commit();
    EXPECT_THAT(replies, SizeIs(1));
    return replies.empty() ? Status::Ok() : replies.front().status;
  }
  std::vector<StoreReply> Commit() {
    Result<std::vector<StoreReply>> replies = store_->Commit();
    EXPECT_TRUE(replies.ok());
    for (Store::Notice& notice : store_->TakeNotices()) {
      if (auto* granted = std::get_if<GrantedRun>(&notice.message)) granted_ = std::move(*granted);
    }
    return replies.ok() ? *std::move(replies) : std::vector<StoreReply>();
  }
  void Accept() {
    AcceptRunRequest accept;
    accept.begin = RunOn("t", "", "r");
    accept.request = "request";
    accept.continued_until_micros = UnixMicros() + int64_t{3600} * 1'000'000;
    EXPECT_TRUE(Send(Operation::kAcceptRun, accept).ok());
  }
  AppendRunRequest Arriving(const std::string& node, int64_t step) {
    BeginRunReply begun;
    begun.lease_epoch = granted_->lease_epoch;
    AppendRunRequest append = AppendOf(RunOn("t", "", "r"), begun);
    append.entries = {{"attempt_started", "{}", 0}};
    append.current_node = node;
    append.step = step;
    return append;
  }
  // The attempt arrives at a node, and is lost there.
  void Arrive(const std::string& node, int64_t step) {
    ASSERT_TRUE(granted_);
    EXPECT_TRUE(Send(Operation::kAppendRun, Arriving(node, step)).ok());
  }
  void Begin() {
    ASSERT_TRUE(granted_);
    BeginRunRequest begin = RunOn("t", "", "r");
    begin.granted = true;
    begin.granted_epoch = granted_->lease_epoch;
    EXPECT_TRUE(Send(Operation::kBeginRun, begin).ok());
  }
  // The pause in which another worker could take a run.
  void PassPause() {
    store_->Tick(MonotonicClock::now() + std::chrono::seconds(2));
    Commit();
  }
  // A run that the worker had begun is granted again at once, if there is another attempt.
  void Lose() {
    granted_.reset();
    Connect();
    store_->Tick(MonotonicClock::now());
    Commit();
  }
  RunRecord Record() {
    const Result<RunRecord> run = ReadRun(DatabaseSnapshot(*database_), {Scope::All(), "t", "r"});
    EXPECT_TRUE(run.ok());
    return run.ok() ? *run : RunRecord();
  }

  std::string Fields() {
    const DatabaseSnapshot snapshot(*database_);
    const Result<ThreadRow> thread = ReadThread(snapshot, Scope::All(), "t");
    const Result<ThreadState> state =
        thread.ok() ? ReadState(snapshot, "t", *thread) : Result<ThreadState>(thread.status());
    EXPECT_TRUE(state.ok());
    return state.ok() ? state->snapshot.fields_json : "unread";
  }

  uint64_t connection_ = 0;
  uint64_t sequence_ = 0;
  std::optional<GrantedRun> granted_;  // the latest
};

TEST_F(LostAttemptsTest, ARunThatAdvancesOutlivesAnyNumberOfThem) {
  Connect();
  Accept();
  for (int i = 0; i < kManyAttempts; ++i) {
    Arrive("WORK", i);
    Lose();
  }
  ASSERT_TRUE(granted_);
  EXPECT_EQ(granted_->attempt, kManyAttempts + 1u);
  EXPECT_EQ(Record().state, RunState::kRunning);
}

TEST_F(LostAttemptsTest, ARunThatStaysInItsPlaceEnds) {
  Connect();
  Accept();
  for (uint32_t i = 0; i <= kAttemptsInPlaceMax; ++i) {
    Arrive("WORK", 1);
    Lose();
  }
  EXPECT_FALSE(granted_);
  EXPECT_EQ(Record().state, RunState::kError);
  EXPECT_EQ(Record().reason, "attempts");
}

TEST_F(LostAttemptsTest, ARunThatStoresNothingEnds) {
  Connect();
  Accept();
  for (uint32_t i = 0; i < kAttemptsInPlaceMax; ++i) {
    Begin();
    Lose();
  }
  EXPECT_FALSE(granted_);
  EXPECT_EQ(Record().reason, "attempts");
}

TEST_F(LostAttemptsTest, GrantsThatWereNotBegunDoNotCount) {
  Connect();
  Accept();
  for (int i = 0; i < kManyAttempts; ++i) {
    Lose();
    EXPECT_FALSE(granted_) << "a worker that cannot take it does not get it again at once";
    PassPause();
    ASSERT_TRUE(granted_);
  }
  EXPECT_EQ(granted_->attempt, 1u);
  EXPECT_EQ(Record().state, RunState::kRunning);
}

TEST_F(LostAttemptsTest, AStepStartsTheCountAgain) {
  Connect();
  Accept();
  for (int step = 1; step <= 3; ++step) {
    for (uint32_t i = 0; i < kAttemptsInPlaceMax; ++i) {
      Arrive("WORK", step);
      Lose();
    }
  }
  EXPECT_EQ(Record().state, RunState::kRunning);
}

TEST_F(LostAttemptsTest, RunsThatAreGivenBackDoNotCount) {
  Connect();
  Accept();
  for (int i = 0; i < kManyAttempts; ++i) {
    Arrive("WORK", 1);
    EXPECT_TRUE(
        Send(Operation::kHandOverRun, HandOverRunRequest{"t", "r", granted_->lease_epoch}).ok());
    granted_.reset();
    PassPause();
  }
  EXPECT_TRUE(granted_);
  EXPECT_EQ(Record().state, RunState::kRunning);
}

TEST_F(LostAttemptsTest, AGrantThatDidNotArriveIsMadeAgain) {
  Connect();
  Accept();
  const GrantedRun first = *granted_;
  Arrive("WORK", 1);
  Lose();
  ASSERT_TRUE(granted_);
  // The worker knows only the attempt before.
  Connect({{"t", "r", first.lease_epoch}});
  PassPause();
  EXPECT_GT(granted_->lease_epoch, first.lease_epoch + 1);
  // The worker holds the latest attempt.
  const GrantedRun latest = *granted_;
  granted_.reset();
  Connect({{"t", "r", latest.lease_epoch}});
  PassPause();
  EXPECT_FALSE(granted_);
}

TEST_F(LostAttemptsTest, AnEarlierConnectionHasNoEffect) {
  Connect();
  Accept();
  const uint64_t earlier = connection_;
  const AppendRunRequest late = Arriving("WORK", 1);
  Connect({{"t", "r", granted_->lease_epoch}});
  EXPECT_EQ(Send(Operation::kAppendRun, late, earlier).code(), StatusCode::kUnavailable);
  EXPECT_NE(Record().current_node, "WORK");
  // Nor do a farewell and a refusal of grants.
  store_->RefuseGrants(kWorker, earlier);
  store_->Leave(kWorker, earlier);
  Commit();
  EXPECT_TRUE(Send(Operation::kAppendRun, late).ok());
  granted_.reset();
  Lose();
  EXPECT_TRUE(granted_);
}

// The fields of earlier attempts are stored, so a change of others that follows is newer.
TEST_F(LostAttemptsTest, TheEndOfAWaitingRunAfterATakeoverKeepsLaterChanges) {
  Connect();
  Accept();
  AppendRunRequest append = Arriving("WORK", 1);
  append.entries[0].effect =
      StateEffect{.fields = {{.name = "a", .value_json = "1", .length = 0, .position = 0}}};
  EXPECT_TRUE(Send(Operation::kAppendRun, append).ok());
  store_->RefuseGrants(kWorker, connection_);
  EXPECT_TRUE(
      Send(Operation::kHandOverRun, HandOverRunRequest{"t", "r", granted_->lease_epoch}).ok());
  EXPECT_EQ(Fields(), R"({"a":1})");
  PutStateRequest put = PutOn("t", "");
  put.fields_json = R"({"a":2})";
  EXPECT_TRUE(Send(Operation::kPutState, put).ok());
  Load();
  store_->Connect({.client = kWorker, .process = getpid()}, ++connection_);
  Commit();
  EXPECT_TRUE(Send(Operation::kRequestStop, StopRequest{Scope::All(), "t", true, "r"}).ok());
  EXPECT_EQ(Record().state, RunState::kStopped);
  EXPECT_EQ(Fields(), R"({"a":2})");
}

TEST_F(LostAttemptsTest, ARunThatIsGivenBackLeavesItsThreadFreeIfItsRowsCannotBeRead) {
  Connect();
  Accept();
  const Result<ThreadRow> thread = ReadThread(DatabaseSnapshot(*database_), Scope::All(), "t");
  ASSERT_TRUE(thread.ok());
  leveldb::WriteBatch batch;
  batch.Put(keys::Counters(thread->key()), "damaged");
  ASSERT_TRUE(database_->Write(batch, false).ok());
  Load();
  Connect({{"t", "r", granted_->lease_epoch}});
  EXPECT_TRUE(Send(Operation::kRequestStop, StopRequest{Scope::All(), "t", true, "r"}).ok());
  EXPECT_TRUE(
      Send(Operation::kHandOverRun, HandOverRunRequest{"t", "r", granted_->lease_epoch}).ok());
  EXPECT_EQ(Send(Operation::kBeginRun, RunOn("t", "", "next")).code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace agent_graph::state
