// Work on many threads or keys costs few round trips: the write thread does nothing else meanwhile.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "host_store.h"
#include "test_database.h"

namespace agent_graph::state {
namespace {

constexpr int kThreads = 60;

class ManyThreadsTest : public postgres::DatabaseTest {
 protected:
  ManyThreadsTest() {
    counted_ = Options();
    counted_.counters = std::make_shared<postgres::ConnectionCounters>();
  }
  template <typename Call>
  int Of(Call call) {
    const uint64_t before = counted_.counters->round_trips;
    call();
    return static_cast<int>(counted_.counters->round_trips - before);
  }
  static int64_t AnHourAgo() { return UnixMicros() - int64_t{3600} * 1'000'000; }
  static void Tick(HostStore& host) {
    EXPECT_TRUE(host.database().Prepare({}).ok());
    host.store().Tick(MonotonicClock::now());
    host.Commit();
  }

  postgres::ConnectionOptions counted_;
};

TEST_F(ManyThreadsTest, Expire) {
  HostStore past(Options(), false, {}, AnHourAgo);
  for (int i = 0; i < kThreads; ++i) past.RunTurn(Numbered("t", i), {UserMessage("m")});
  StateOptions state;
  state.thread_ttl = std::chrono::minutes(1);
  HostStore host(counted_, false, state);
  EXPECT_LT(Of([&] { Tick(host); }), kThreads);
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.thread"), 0);
}

TEST_F(ManyThreadsTest, AreDeletedByAnotherHost) {
  HostStore host(counted_);
  EXPECT_EQ(
      Of([&] {
        for (int i = 0; i < kThreads; ++i) {
          host.store().OnHostNotice({HostNotice::Kind::kThreadDeleted, {}, Numbered("t", i), {}});
        }
        host.Commit();
      }),
      0);
  EXPECT_EQ(host.store().TakeNotices().size(), static_cast<size_t>(kThreads));
}

TEST_F(ManyThreadsTest, LoseTheirWorker) {
  HostStore host(counted_);
  for (int i = 0; i < kThreads; ++i) host.Execute(Operation::kBeginRun, RunOn(Numbered("t", i)));
  EXPECT_LT(Of([&] {
              host.Connect();
              host.Commit();
            }),
            kThreads);
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.lease WHERE lease_key IS NOT NULL"), 0);
}

TEST_F(ManyThreadsTest, AreNoLongerWaitedFor) {
  HostStore holder(Options());
  HostStore host(counted_);
  for (int i = 0; i < kThreads; ++i) {
    holder.Execute(Operation::kBeginRun, RunOn(Numbered("t", i)));
    EXPECT_TRUE(host.Execute(Operation::kBeginRun, RunOn(Numbered("t", i))).queued);
  }
  EXPECT_LT(Of([&] {
              host.Connect();
              host.Commit();
            }),
            kThreads);
}

TEST_F(ManyThreadsTest, KeysExpire) {
  HostStore past(Options(), false, {}, AnHourAgo);
  for (int i = 0; i < kThreads; ++i) {
    ClaimKeyRequest claim;
    claim.key = {.route = "route", .key = Numbered("k", i)};
    claim.expires_micros = UnixMicros() + 1;
    EXPECT_TRUE(past.Execute(Operation::kClaimKey, claim).status.ok());
  }
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.run_key"), 2 * kThreads);
  HostStore host(counted_);
  EXPECT_LT(Of([&] { Tick(host); }), kThreads);
  EXPECT_EQ(Number("SELECT count(*) FROM agent_graph.run_key"), 0);
}

}  // namespace
}  // namespace agent_graph::state
