// Clients whose process lives and does not answer: what they keep, for how long, and that nothing
// they write later gets in.
#include <gmock/gmock.h>

#include <mutex>
#include <thread>

#include "child_process.h"
#include "fixture.h"
#include "state/leveldb/store.h"
#include "state/leveldb/thread_read.h"

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
class SilentClientTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Database>> database = Database::OpenMemory();
    ASSERT_TRUE(database.ok());
    database_ = *std::move(database);
    Open();
  }
  void Open() {
    store_ = std::make_unique<Store>(*database_, SyncLevel::kNone, seconds(0));
    ASSERT_TRUE(store_->Load().ok());
  }
  void Connect(const std::string& client, uint64_t connection, bool answers_pings = true,
               std::vector<std::string> runs = {"first", "second"}) {
    wire::Hello hello;
    hello.client = client;
    hello.process = getpid();
    hello.runs = std::move(runs);
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
                  {sequence_, 0, wire::Operation::kBeginRun, 1'000'000}, unpacker);
    Commit();
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
      store_->Hear("other");
      if (held_answers) store_->Hear("held");
      store_->Tick(now_);
      Commit();
    }
  }
  std::vector<std::string> Alerts() const {
    std::vector<std::string> alerts;
    for (const Store::Report& report : reports_) {
      if (report.alert) alerts.push_back(report.text);
    }
    return alerts;
  }
  // To the client "held".
  size_t NoticesOf(wire::FrameType type) const {
    size_t count = 0;
    for (const Store::Notice& notice : notices_) {
      if (notice.connection != 1) continue;
      pack::Unpacker unpacker(std::string_view(notice.frame).substr(wire::kFrameHeaderBytes));
      if (wire::ReadFrameType(unpacker) == type) ++count;
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
  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
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
  EXPECT_EQ(NoticesOf(wire::FrameType::kPing), Store::kPingsUnansweredMax);
  ASSERT_THAT(Alerts(), SizeIs(1));
  EXPECT_THAT(Alerts()[0], HasSubstr("process " + std::to_string(getpid()) + " does not answer"));
  EXPECT_THAT(Alerts()[0], HasSubstr("1 thread"));
  Pass(280);
  EXPECT_EQ(Holder("t"), "first");
  Pass(10);
  EXPECT_EQ(Holder("t"), "second");
  EXPECT_EQ(NoticesOf(wire::FrameType::kCancelRun), 1u);
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
  store_->Hear("held");
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
  EXPECT_EQ(NoticesOf(wire::FrameType::kPing), 0u);
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

TEST_F(SilentClientTest, ANewOwnerKnowsTheDeadline) {
  Connect("held", 1);
  Begin("held", "t", "first", minutes(3));
  Open();
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
  store_->Leave("other");
  Commit();
  EXPECT_EQ(Holder("t"), "");
  EXPECT_EQ(Holder("mine"), "first");
}

// With a real process.

TEST(Child, DISABLED_WritesWhenItIsThawed) {
  ASSERT_NE(ChildDirectory(), "");
  auto client = StartClient(ChildDirectory());
  BeginRunRequest run = RunOn("held", "", "run-of-the-child");
  run.run_ms_max = 1000;
  Result<BeginRunReply> begun = client->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  ASSERT_TRUE(client->AppendRun(AppendOf(run, *begun, {UserMessage("m1")})).ok());
  // Until the lease is somebody else's.
  for (Status written; written.code() != StatusCode::kFenced;) {
    written = client->AppendRun(AppendOf(run, *begun)).status();
    std::this_thread::sleep_for(milliseconds(1));
  }
  const Status ended = client->FinishRun(FinishOf(run, *begun, {AssistantMessage("late")}));
  const bool refused = ended.code() == StatusCode::kFenced;
  ASSERT_TRUE(
      client
          ->AppendMessages(MessagesOn("witness", "", {UserMessage(refused ? "refused" : "taken")}))
          .ok());
  for (;;) pause();
}

TEST(FrozenProcess, LosesItsLeaseAtTheDeadlineAndIsFenced) {
  TemporaryDirectory directory;
  std::mutex mutex;
  std::vector<std::string> alerts;
  OwnerOptions options;
  options.directory = directory.path();
  options.log = [&](OwnerOptions::LogLevel level, const std::string& text) {
    std::lock_guard lock(mutex);
    if (level == OwnerOptions::LogLevel::kAlert) alerts.push_back(text);
  };
  Result<std::unique_ptr<Owner>> owner = Owner::Start(options);
  ASSERT_TRUE(owner.ok());
  auto client = StartClient(directory.path());
  ChildProcess worker("Child.DISABLED_WritesWhenItIsThawed", directory.path());
  while (!client->GetMessage(Scope::All(), "held", "m1").ok()) std::this_thread::yield();
  worker.Freeze();

  // It is answered and recorded; what would carry it out does not run.
  Result<StopReply> stop = client->RequestStop({Scope::All(), "held"});
  ASSERT_TRUE(stop.ok());
  EXPECT_TRUE(stop->running);
  EXPECT_TRUE(client->GetState(Scope::All(), "held")->in_flight->stop_requested);

  BeginRunRequest next = RunOn("held");
  next.wait_ms_max = 60'000;
  Result<BeginRunReply> begun = client->BeginRun(next, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  EXPECT_EQ(begun->lease_epoch, 2u);
  {
    std::lock_guard lock(mutex);
    EXPECT_THAT(alerts, ElementsAre(HasSubstr("does not answer")));
  }
  worker.Thaw();
  while (!client->GetThread(Scope::All(), "witness").ok()) std::this_thread::yield();
  EXPECT_TRUE(client->GetMessage(Scope::All(), "witness", "refused").ok());
  EXPECT_EQ(client->GetMessage(Scope::All(), "held", "late").status().code(),
            StatusCode::kNotFound);
  EXPECT_TRUE(client->FinishRun(FinishOf(next, *begun, {UserMessage("m2")})).ok());
  client->Stop();
}

}  // namespace
}  // namespace agent_graph::state
