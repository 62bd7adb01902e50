// Clients whose process lives and does not answer: what they keep, for how long, and that nothing
// they write later gets in.
#include <gmock/gmock.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <variant>

#include "../requests.h"
#include "state/requests.h"
#include "state/thread/thread_read.h"
#include "store_in_memory.h"

namespace agent_graph::state {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The store with a clock of the test's.
class SilentClientTest : public StoreInMemory {
 protected:
  void Connect(const std::string& client, uint64_t connection, bool answers_pings = true,
               std::vector<std::string> runs = {"first", "second"}) {
    ClientHello hello;
    hello.client = client;
    hello.process = getpid();
    hello.run_ids = std::move(runs);
    hello.answers_pings = answers_pings;
    store_->Connect(hello, connection);
  }
  void Begin(const std::string& client, const std::string& thread_id, const std::string& run_id,
             milliseconds run_max) {
    BeginRunRequest run = RunOn(thread_id, "", run_id);
    run.run_ms_max = run_max.count();
    run.wait_ms_max = 3'600'000;
    const std::string bytes = pack::ToBytes(run);
    pack::Unpacker unpacker(bytes);
    store_->Apply({client, client == "held" ? 1u : 2u, ++sequence_},
                  {sequence_, 0, Operation::kBeginRun, 1'000'000}, unpacker);
    Commit();
    // The store has counted the run's deadline from the real time.
    now_ = std::max(now_, MonotonicClock::now());
  }
  void Commit() {
    Result<std::vector<StoreReply>> replies = store_->Commit();
    ASSERT_TRUE(replies.ok());
    for (StoreReply& reply : *replies) replies_.push_back(std::move(reply));
    for (Store::Notice& notice : store_->TakeNotices()) notices_.push_back(std::move(notice));
    for (Store::Report& report : store_->TakeReports()) reports_.push_back(std::move(report));
  }
  // Seconds pass, one after the other, without a word from "held"; the other client answers.
  void Pass(int count, bool held_answers = false) {
    for (int i = 0; i < count; ++i) {
      now_ += seconds(1);
      store_->OnPong("other", 2);
      if (held_answers) store_->OnPong("held", 1);
      store_->Tick(now_);
      Commit();
    }
  }
  std::vector<std::string> Alerts() const {
    std::vector<std::string> alerts;
    for (const Store::Report& report : reports_) {
      if (report.level == LogLevel::kAlert) alerts.push_back(report.text);
    }
    return alerts;
  }
  // The messages to the client "held".
  template <typename Message>
  size_t NoticesOf() const {
    size_t count = 0;
    for (const Store::Notice& notice : notices_) {
      if (notice.connection == 1 && std::holds_alternative<Message>(notice.message)) ++count;
    }
    return count;
  }
  // The run that has the thread; empty: none has.
  std::string Holder(const std::string& thread_id) {
    const DatabaseSnapshot snapshot(*database_);
    Result<ThreadRow> thread = ReadThread(snapshot, Scope::All(), thread_id);
    if (!thread.ok()) return "no thread";
    Result<ThreadState> state = ReadState(snapshot, thread_id, *thread);
    return state.ok() && state->in_flight ? state->in_flight->run_id : "";
  }

  Deadline now_ = MonotonicClock::now();
  uint64_t sequence_ = 0;
  std::vector<StoreReply> replies_;
  std::vector<Store::Notice> notices_;
  std::vector<Store::Report> reports_;
};

TEST_F(SilentClientTest, KeepsItsLeaseUntilTheDeadline) {
  Connect("held", 1);
  Connect("other", 2, true, {"second"});
  Begin("held", "t", "first", minutes(5));
  Begin("other", "t", "second", minutes(5));
  Pass(12);
  EXPECT_EQ(NoticesOf<Ping>(), kPingsUnansweredMax);
  ASSERT_THAT(Alerts(), SizeIs(1));
  EXPECT_THAT(Alerts()[0], HasSubstr("process " + std::to_string(getpid()) + " does not answer"));
  EXPECT_THAT(Alerts()[0], HasSubstr("1 thread"));
  Pass(280);
  EXPECT_EQ(Holder("t"), "first");
  Pass(10);
  EXPECT_EQ(Holder("t"), "second");
  EXPECT_EQ(NoticesOf<CancelRun>(), 1u);
  EXPECT_THAT(Alerts(), SizeIs(1));
  EXPECT_EQ(replies_.back().reply.lease_epoch, 2u);
}

TEST_F(SilentClientTest, OneThatAnswersMayTakeLonger) {
  Connect("held", 1);
  Begin("held", "t", "first", seconds(20));
  Pass(600, /*held_answers=*/true);
  EXPECT_EQ(Holder("t"), "first");
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(SilentClientTest, IsHeardAgain) {
  Connect("held", 1);
  Begin("held", "t", "first", minutes(5));
  Pass(20);
  EXPECT_THAT(Alerts(), SizeIs(1));
  store_->OnPong("held", 1);
  Pass(310, /*held_answers=*/true);
  EXPECT_EQ(Holder("t"), "first") << "it is late, and answers";
  EXPECT_THAT(reports_, SizeIs(2));
}

TEST_F(SilentClientTest, APauseOfTheServerIsNotTheirs) {
  Connect("held", 1);
  Begin("held", "t", "first", seconds(20));
  Pass(5);
  now_ += minutes(10);
  Pass(3);
  EXPECT_THAT(reports_, IsEmpty());
  EXPECT_EQ(Holder("t"), "first");
}

TEST_F(SilentClientTest, OneOfAnotherBuildIsNotAsked) {
  Connect("held", 1, /*answers_pings=*/false);
  Begin("held", "t", "first", seconds(20));
  Pass(600);
  EXPECT_EQ(NoticesOf<Ping>(), 0u);
  EXPECT_EQ(Holder("t"), "first");
}

TEST_F(SilentClientTest, ARunWithoutADeadlineEndsSomeTimeAfterItsLastWord) {
  Connect("held", 1);
  Begin("held", "t", "first", milliseconds(0));
  Pass(600);
  EXPECT_EQ(Holder("t"), "first");
  Pass(30);
  EXPECT_EQ(Holder("t"), "");
}

TEST_F(SilentClientTest, OneWithoutAConnectionKeepsItsLeaseToo) {
  Connect("held", 1);
  Begin("held", "t", "first", minutes(3));
  store_->Disconnect("held", 1);
  now_ = MonotonicClock::now();
  Pass(170);
  EXPECT_EQ(Holder("t"), "first");
  EXPECT_THAT(Alerts(), SizeIs(1));
  Pass(20);
  EXPECT_EQ(Holder("t"), "");
}

TEST_F(SilentClientTest, ANewServerKnowsTheDeadline) {
  Connect("held", 1);
  Begin("held", "t", "first", minutes(3));
  Load();
  Pass(170);
  EXPECT_EQ(Holder("t"), "first");
  Pass(20);
  EXPECT_EQ(Holder("t"), "");
}

TEST_F(SilentClientTest, IsGrantedNothing) {
  Connect("held", 1);
  Connect("other", 2, true, {"second"});
  Begin("held", "mine", "first", minutes(5));
  Begin("other", "t", "second", minutes(5));
  Begin("held", "t", "third", minutes(5));
  Pass(12);
  EXPECT_EQ(replies_.back().status.code(), StatusCode::kUnavailable);
  store_->Leave("other", 2);
  Commit();
  EXPECT_EQ(Holder("t"), "");
  EXPECT_EQ(Holder("mine"), "first");
}

}  // namespace
}  // namespace agent_graph::state
