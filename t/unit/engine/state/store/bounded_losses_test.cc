// Workers that are lost with many runs, and runs that end in great numbers: how much of that one
// batch has.
#include <gmock/gmock.h>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "../requests.h"
#include "state/requests.h"
#include "state/thread/run_read.h"
#include "store_in_memory.h"

namespace agent_graph::state {
namespace {

using testing::AllOf;
using testing::Gt;
using testing::Lt;
using testing::SizeIs;

constexpr size_t kMiB = 1024 * 1024;

class BoundedLossesTest : public StoreInMemory {
 protected:
  void SetUp() override {
    StoreInMemory::SetUp();
    Connect();
  }
  // The client holds nothing that it had before.
  void Connect(bool takes_runs = false) {
    store_->Connect({.client = "worker", .process = getpid(), .takes_runs = takes_runs},
                    ++connection_);
  }
  template <typename Body>
  void Apply(Operation operation, const Body& body) {
    const std::string bytes = pack::ToBytes(body);
    pack::Unpacker unpacker(bytes);
    store_->Apply({"worker", connection_, ++sequence_}, {sequence_, sequence_, operation, 1},
                  unpacker);
  }
  // Runs of the client, of which each has changed a field to a value of this size.
  void Begin(int runs, size_t bytes) {
    for (int i = 0; i < runs; ++i) {
      const BeginRunRequest run = RunOn(Numbered("t", 100 + i), "", "r");
      Apply(Operation::kBeginRun, run);
      const std::vector<StoreReply> replies = Commit();
      BeginRunReply begun;
      ASSERT_THAT(replies, SizeIs(1));
      ASSERT_TRUE(pack::FromBytes(replies[0].reply.body, begun));
      Append(run.thread_id, last_epoch_ = begun.lease_epoch, bytes);
      for (const StoreReply& reply : Commit()) EXPECT_TRUE(reply.status.ok());
    }
  }
  void Append(const std::string& thread_id, uint64_t epoch, size_t bytes) {
    BeginRunReply begun;
    begun.lease_epoch = epoch;
    AppendRunRequest append = AppendOf(RunOn(thread_id, "", "r"), begun);
    append.entries = {{"run_started", "{}", 0}};
    append.entries[0].effect =
        StateEffect{.fields = {{.name = "text", .value_json = JsonTextOf(bytes)}}};
    Apply(Operation::kAppendRun, append);
  }
  static std::string JsonTextOf(size_t bytes) { return '"' + std::string(bytes, 'x') + '"'; }
  int Leases() { return RowsOf(keys::Table::kLease); }
  std::string ReasonOf(const std::string& thread_id) {
    const Result<RunRecord> run =
        ReadRun(DatabaseSnapshot(*database_), {Scope::All(), thread_id, "r"});
    return run.ok() ? run->reason : run.status().ToString();
  }
  void Tick() { store_->Tick(MonotonicClock::now()); }

  uint64_t connection_ = 0;
  uint64_t sequence_ = 0;
  uint64_t last_epoch_ = 0;  // of the run that Begin has begun last
};

TEST_F(BoundedLossesTest, ABatchLosesSomeOfManyRuns) {
  constexpr int kRuns = 300;
  Begin(kRuns, 1);
  store_->Leave("worker", connection_);
  int left = kRuns;
  int batches = 0;
  for (; left > 0 && batches < 20; ++batches) {
    Commit();
    const int leases = Leases();
    EXPECT_THAT(left - leases, AllOf(Gt(0), Lt(100)));
    left = leases;
    EXPECT_EQ(store_->next_tick() <= MonotonicClock::now(), left > 0) << "the next batch follows";
    Tick();
  }
  EXPECT_EQ(left, 0);
  EXPECT_EQ(ReasonOf("t100"), "worker_lost");
  EXPECT_EQ(ReasonOf("t399"), "worker_lost");
}

TEST_F(BoundedLossesTest, ABatchLosesFewRunsWithLargeStates) {
  constexpr int kRuns = 24;
  Begin(kRuns, kMiB);
  store_->Leave("worker", connection_);
  int batches = 0;
  for (; Leases() > 0 && batches < 20; ++batches) {
    EXPECT_THAT(store_->batch_bytes(), Lt(12 * kMiB));
    Commit();
    Tick();
  }
  EXPECT_THAT(batches, AllOf(Gt(2), Lt(20)));
  EXPECT_EQ(ReasonOf("t123"), "worker_lost");
}

// A run that the client has not named is lost at once, although the store ends it later.
TEST_F(BoundedLossesTest, ALostRunWritesNothingMore) {
  constexpr int kRuns = 100;
  Begin(kRuns, 1);
  Connect();
  Commit();
  ASSERT_THAT(Leases(), Gt(0));
  Append(Numbered("t", 100 + kRuns - 1), last_epoch_, 1);
  const std::vector<StoreReply> replies = Commit();
  ASSERT_THAT(replies, SizeIs(1));
  EXPECT_EQ(replies[0].status.code(), StatusCode::kFenced);
}

TEST_F(BoundedLossesTest, ABatchEndsFewOverdueRunsWithLargeStates) {
  constexpr int kRuns = 24;
  Connect(/*takes_runs=*/true);
  for (int i = 0; i < kRuns; ++i) {
    AcceptRunRequest accept;
    accept.begin = RunOn(Numbered("t", 100 + i), "", "r");
    accept.deadline_micros = UnixMicros() + int64_t{3600} * 1'000'000;
    accept.continued_until_micros = accept.deadline_micros;
    Apply(Operation::kAcceptRun, accept);
    Commit();
    for (const StoreNotice& notice : store_->TakeNotices()) {
      const auto* const granted = std::get_if<GrantedRun>(&notice.message);
      if (granted != nullptr) Append(granted->thread_id, granted->lease_epoch, kMiB);
    }
    Commit();
  }
  // Its runs wait for a worker until their deadlines.
  store_->Leave("worker", connection_);
  for (Commit(); store_->next_tick() <= MonotonicClock::now(); Commit()) Tick();
  int batches = 0;
  for (; Leases() > 0 && batches < 20; ++batches) {
    store_->Tick(MonotonicClock::now() + std::chrono::hours(2));
    EXPECT_THAT(store_->batch_bytes(), Lt(12 * kMiB));
    Commit();
  }
  EXPECT_THAT(batches, AllOf(Gt(2), Lt(20)));
  EXPECT_EQ(ReasonOf("t123"), "deadline");
}

TEST_F(BoundedLossesTest, ABatchEndsSomeOfManyOverdueRuns) {
  constexpr int kRuns = 300;
  Apply(Operation::kBeginRun, RunOn("t", "", "holder"));
  for (int i = 0; i < kRuns; ++i) {
    AcceptRunRequest accept;
    accept.begin = RunOn("t", "", Numbered("r", i));
    accept.begin.queue_max = kRuns;
    accept.deadline_micros = UnixMicros() + int64_t{3600} * 1'000'000;
    Apply(Operation::kAcceptRun, accept);
  }
  Commit();
  int left = RowsOf(keys::Table::kRunRequest);
  ASSERT_EQ(left, kRuns);
  for (int batch = 0; left > 0 && batch < 20; ++batch) {
    const auto now = MonotonicClock::now() + std::chrono::hours(2);
    EXPECT_THAT(store_->next_tick(), testing::Le(now));
    store_->Tick(now);
    Commit();
    const int requests = RowsOf(keys::Table::kRunRequest);
    EXPECT_THAT(left - requests, AllOf(Gt(0), Lt(200)));
    left = requests;
  }
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace agent_graph::state
