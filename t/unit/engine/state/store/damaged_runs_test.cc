// Accepted runs whose rows, or those of their thread, cannot be read: they end, and are not granted
// again and again.
#include <gmock/gmock.h>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../requests.h"
#include "state/requests.h"
#include "state/store/store.h"
#include "wrapped_database.h"

namespace agent_graph::state {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class DamagedDatabase : public WrappedDatabase {
 public:
  Result<std::optional<std::string>> Get(const std::string& key) const override {
    if (!damaged.empty() && key.starts_with(damaged)) return {{StatusCode::kDataLoss, "damaged"}};
    return WrappedDatabase::Get(key);
  }

  std::string damaged;  // prefix of keys
};

class DamagedRunsTest : public testing::Test {
 protected:
  void SetUp() override {
    Open();
    Connect(/*takes_runs=*/false);
  }
  void Open() {
    store_.emplace(database_, StateOptions{.sync = SyncLevel::kNone});
    ASSERT_TRUE(store_->Load().ok());
  }
  // The store has the rows that it wrote in memory, so damage is seen by the next one.
  void Damage(const std::string& key) {
    Open();
    database_.damaged = key;
  }
  void Connect(bool takes_runs, std::vector<HeldRun> held = {}) {
    store_->Connect({.client = "worker",
                     .process = getpid(),
                     .held = std::move(held),
                     .answers_pings = true,
                     .takes_runs = takes_runs},
                    ++connection_);
    Commit();
  }
  template <typename Body>
  Status Send(Operation operation, const Body& body) {
    const std::string bytes = pack::ToBytes(body);
    pack::Unpacker unpacker(bytes);
    store_->Apply({"worker", connection_, ++sequence_}, {sequence_, 0, operation, UnixMicros()},
                  unpacker);
    const std::vector<StoreReply> replies = Commit();
    return replies.empty() ? Status::Ok() : replies.back().status;
  }
  void Accept(const std::string& run_id) {
    AcceptRunRequest accept;
    accept.begin = RunOn("t", "", run_id);
    accept.request = "request";
    accept.continued_until_micros = UnixMicros() + int64_t{3600} * 1'000'000;
    EXPECT_TRUE(Send(Operation::kAcceptRun, accept).ok());
  }
  std::vector<StoreReply> Commit() {
    Result<std::vector<StoreReply>> replies = store_->Commit();
    EXPECT_TRUE(replies.ok());
    for (Store::Notice& notice : store_->TakeNotices()) {
      if (auto* granted = std::get_if<GrantedRun>(&notice.message)) {
        granted_.push_back(std::move(*granted));
      }
    }
    return replies.ok() ? *std::move(replies) : std::vector<StoreReply>();
  }
  void PassPauses() {
    for (int i = 0; i < 5; ++i) {
      now_ += std::chrono::seconds(2);
      store_->Tick(now_);
      Commit();
    }
  }
  bool HasRequests() {
    const std::string prefix = keys::TablePrefix(keys::Table::kRunRequest);
    bool found = false;
    EXPECT_TRUE(database_
                    .Scan(prefix, keys::PrefixEnd(prefix),
                          [&](std::string_view, std::string_view) { return !(found = true); })
                    .ok());
    return found;
  }
  RunRecord RecordOf(const std::string& run_id) {
    const auto bytes = database_.WrappedDatabase::Get(keys::Run(thread_, run_id));
    RunRow row;
    EXPECT_TRUE(bytes.ok() && *bytes && pack::FromBytes(**bytes, row));
    return row.record;
  }

  const keys::ThreadKey thread_{"", 1};
  DamagedDatabase database_;
  std::optional<Store> store_;
  Deadline now_ = MonotonicClock::now();
  uint64_t connection_ = 0;
  uint64_t sequence_ = 0;
  std::vector<GrantedRun> granted_;
};

TEST_F(DamagedRunsTest, ARunThatCannotBeGrantedEnds) {
  Accept("first");
  Accept("second");
  Damage(keys::RunRequest(thread_, "first"));
  Connect(/*takes_runs=*/true);
  PassPauses();
  EXPECT_THAT(store_->TakeReports(), SizeIs(1));
  EXPECT_EQ(RecordOf("first").state, RunState::kError);
  EXPECT_EQ(RecordOf("first").reason, "DATA_LOSS");
  ASSERT_THAT(granted_, SizeIs(1)) << "the next run has the thread";
  EXPECT_EQ(granted_[0].run_id, "second");
}

TEST_F(DamagedRunsTest, ARunWithoutItsRecordEnds) {
  Accept("first");
  Damage(keys::Run(thread_, "first"));
  Connect(/*takes_runs=*/true);
  PassPauses();
  EXPECT_THAT(store_->TakeReports(), SizeIs(1));
  EXPECT_THAT(granted_, IsEmpty());
  EXPECT_FALSE(HasRequests());
  EXPECT_EQ(RecordOf("first").state, RunState::kError) << "for clients that wait for its end";
  EXPECT_EQ(RecordOf("first").reason, "DATA_LOSS");
  EXPECT_EQ(RecordOf("first").thread_id, "t");
  EXPECT_TRUE(Send(Operation::kBeginRun, RunOn("t")).ok()) << "the thread is free";
}

TEST_F(DamagedRunsTest, AWaitingRunWithoutItsRecordIsStopped) {
  EXPECT_TRUE(Send(Operation::kBeginRun, RunOn("t", "", "holder")).ok());
  Accept("first");
  Damage(keys::Run(thread_, "first"));
  Connect(/*takes_runs=*/false, {{"t", "holder", 0}});
  StopRequest stop;
  stop.scope = Scope::All();
  stop.thread_id = "t";
  stop.run_id = "first";
  EXPECT_TRUE(Send(Operation::kRequestStop, stop).ok());
  EXPECT_EQ(RecordOf("first").state, RunState::kError);
  EXPECT_EQ(RecordOf("first").reason, "DATA_LOSS");
  EXPECT_FALSE(HasRequests());
}

TEST_F(DamagedRunsTest, ARunThatCannotStartEnds) {
  EXPECT_TRUE(Send(Operation::kBeginRun, RunOn("t", "", "holder")).ok());
  Accept("first");
  Damage(keys::Counters(thread_));
  Connect(/*takes_runs=*/false);  // without the run that has the thread
  EXPECT_THAT(store_->TakeReports(), SizeIs(1));
  EXPECT_EQ(RecordOf("first").state, RunState::kError);
  EXPECT_EQ(RecordOf("first").reason, "DATA_LOSS");
  EXPECT_FALSE(HasRequests());
}

// It would execute everything again.
TEST_F(DamagedRunsTest, ARunWhoseEndCannotBeStoredIsNotGrantedAgain) {
  Connect(/*takes_runs=*/true);
  Accept("first");
  ASSERT_THAT(granted_, SizeIs(1));
  BeginRunReply begun;
  begun.lease_epoch = granted_[0].lease_epoch;
  Damage(keys::Counters(thread_));
  Connect(/*takes_runs=*/true, {{"t", "first", begun.lease_epoch}});
  EXPECT_EQ(Send(Operation::kFinishRun, FinishOf(RunOn("t", "", "first"), begun)).code(),
            StatusCode::kDataLoss);
  // The client has no further use for the lease.
  EXPECT_TRUE(
      Send(Operation::kReleaseRun, ReleaseRunRequest{"t", "first", begun.lease_epoch}).ok());
  PassPauses();
  EXPECT_THAT(granted_, SizeIs(1));
  EXPECT_EQ(RecordOf("first").state, RunState::kError);
  EXPECT_EQ(RecordOf("first").reason, "DATA_LOSS");
  EXPECT_FALSE(HasRequests());
}

// The end of an earlier run that arrives late says nothing about the run that has the thread.
TEST_F(DamagedRunsTest, TheEndOfADamagedRunDoesNotConcernALaterOne) {
  Connect(/*takes_runs=*/true);
  Accept("second");
  ASSERT_THAT(granted_, SizeIs(1));
  Damage(keys::Run(thread_, "first"));
  Connect(/*takes_runs=*/true, {{"t", "second", granted_[0].lease_epoch}});
  EXPECT_EQ(Send(Operation::kFinishRun, FinishOf(RunOn("t", "", "first"), BeginRunReply())).code(),
            StatusCode::kDataLoss);
  Connect(/*takes_runs=*/true);  // has lost its run
  ASSERT_THAT(granted_, SizeIs(2));
  EXPECT_EQ(granted_[1].run_id, "second");
  EXPECT_EQ(RecordOf("second").state, RunState::kRunning);
}

}  // namespace
}  // namespace agent_graph::state
