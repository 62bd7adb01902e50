// Accepted runs that wait for a worker: how much of them one batch, and one worker, gets, and which
// worker gets a run that another one did not execute.
#include <gmock/gmock.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "../requests.h"
#include "state/requests.h"
#include "store_in_memory.h"

namespace agent_graph::state {
namespace {

using testing::IsEmpty;
using testing::Lt;
using testing::SizeIs;

constexpr size_t kMiB = 1024 * 1024;

class BoundedGrantsTest : public StoreInMemory {
 protected:
  void SetUp() override {
    StoreInMemory::SetUp();
    Connect("client", /*takes_runs=*/false);
  }
  void Connect(const std::string& client, bool takes_runs = true, std::vector<HeldRun> held = {}) {
    connections_[client] = ++connection_;
    store_->Connect({.client = client,
                     .process = getpid(),
                     .held = std::move(held),
                     .answers_pings = true,
                     .takes_runs = takes_runs},
                    connection_);
    Commit();
  }
  template <typename Body>
  Status Send(const std::string& client, Operation operation, const Body& body) {
    const std::string bytes = pack::ToBytes(body);
    pack::Unpacker unpacker(bytes);
    store_->Apply({client, connections_.at(client), ++sequence_},
                  {sequence_, 0, operation, UnixMicros()}, unpacker);
    const std::vector<StoreReply> replies = Commit();
    EXPECT_THAT(replies, SizeIs(1));
    return replies.empty() ? Status::Ok() : replies.front().status;
  }
  std::vector<StoreReply> Commit() {
    Result<std::vector<StoreReply>> replies = store_->Commit();
    EXPECT_TRUE(replies.ok());
    for (Store::Notice& notice : store_->TakeNotices()) {
      if (auto* granted = std::get_if<GrantedRun>(&notice.message)) {
        granted_[notice.connection].push_back(std::move(*granted));
      }
    }
    return replies.ok() ? *std::move(replies) : std::vector<StoreReply>();
  }
  void Accept(const std::string& thread_id, size_t bytes) {
    AcceptRunRequest accept;
    accept.begin = RunOn(thread_id, "", "r");
    accept.request = std::string(bytes, 'x');
    accept.continued_until_micros = UnixMicros() + int64_t{3600} * 1'000'000;
    EXPECT_TRUE(Send("client", Operation::kAcceptRun, accept).ok());
  }
  void Begin(const std::string& client, const GrantedRun& granted) {
    BeginRunRequest begin = RunOn(granted.thread_id, "", granted.run_id);
    begin.granted = true;
    begin.granted_epoch = granted.lease_epoch;
    EXPECT_TRUE(Send(client, Operation::kBeginRun, begin).ok());
  }
  void GiveBack(const std::string& client, const GrantedRun& granted) {
    const HandOverRunRequest run{granted.thread_id, granted.run_id, granted.lease_epoch};
    EXPECT_TRUE(Send(client, Operation::kHandOverRun, run).ok());
  }
  // Grants runs that need not wait.
  void GrantNow() {
    store_->Tick(MonotonicClock::now());
    Commit();
  }
  // The time of the next grants has come.
  void PassPause() {
    // The machine may be slow.
    now_ = std::max(now_, MonotonicClock::now()) + std::chrono::seconds(2);
    store_->Tick(now_);
    Commit();
  }
  // Takes the runs that were granted to the client since the last call.
  std::vector<GrantedRun> TakeGrants(const std::string& client) {
    return std::exchange(granted_[connections_.at(client)], {});
  }
  static size_t BytesOf(const std::vector<GrantedRun>& runs) {
    size_t bytes = 0;
    for (const GrantedRun& run : runs) bytes += run.request.size();
    return bytes;
  }

  Deadline now_ = MonotonicClock::now();
  uint64_t connection_ = 0;
  uint64_t sequence_ = 0;
  std::map<std::string, uint64_t> connections_;
  std::map<uint64_t, std::vector<GrantedRun>> granted_;  // by connection
};

TEST_F(BoundedGrantsTest, AWorkerGetsMoreWhenItHasBegunWhatItHas) {
  constexpr size_t kRuns = 20;
  for (size_t i = 0; i < kRuns; ++i) Accept(Numbered("t", static_cast<int>(i)), 4 * kMiB);
  Connect("worker");
  std::vector<std::string> begun;
  for (size_t round = 0; begun.size() < kRuns && round < kRuns; ++round) {
    const std::vector<GrantedRun> runs = TakeGrants("worker");
    EXPECT_THAT(BytesOf(runs), Lt(2 * kUnbegunBytesMax));
    PassPause();
    EXPECT_THAT(TakeGrants("worker"), IsEmpty()) << "before it begins";
    for (const GrantedRun& run : runs) {
      Begin("worker", run);
      begun.push_back(run.thread_id);
    }
    PassPause();
  }
  EXPECT_THAT(begun, SizeIs(kRuns));
  EXPECT_EQ(begun.front(), "t0") << "the one that has waited longest";
  EXPECT_EQ(begun.back(), "t19");
}

TEST_F(BoundedGrantsTest, ARunThatIsAcceptedWaitsBehindTheOthers) {
  for (int i = 0; i < 8; ++i) Accept(Numbered("t", i), 4 * kMiB);
  Connect("worker");
  Accept("a", 1);
  const std::vector<GrantedRun> first = TakeGrants("worker");
  ASSERT_THAT(first, SizeIs(4));
  for (const GrantedRun& run : first) {
    EXPECT_NE(run.thread_id, "a");
    Begin("worker", run);
  }
  Accept("b", 1);
  EXPECT_THAT(TakeGrants("worker"), IsEmpty());
  PassPause();
  EXPECT_EQ(TakeGrants("worker").front().thread_id, "t4");
}

TEST_F(BoundedGrantsTest, ABatchGrantsSomeOfManyRuns) {
  constexpr int kRuns = 600;
  for (int i = 0; i < kRuns; ++i) Accept(Numbered("t", i), 1);
  Connect("worker");
  size_t granted = 0;
  for (int batch = 0; batch < 5; ++batch) {
    const size_t count = TakeGrants("worker").size();
    EXPECT_THAT(count, Lt(200u));
    granted += count;
    // The next batch follows without a pause.
    store_->Tick(MonotonicClock::now());
    Commit();
  }
  EXPECT_EQ(granted, kRuns);
}

TEST_F(BoundedGrantsTest, AWorkerThatConnectsAgainHasRoomAgain) {
  for (int i = 0; i < 8; ++i) Accept(Numbered("t", i), 4 * kMiB);
  for (int round = 0; round < 3; ++round) {
    Connect("worker");
    PassPause();
    EXPECT_THAT(TakeGrants("worker"), SizeIs(4));
  }
}

// The other worker is busier, but the first one, which may have too little memory for the run,
// would not execute it the next time either.
TEST_F(BoundedGrantsTest, ARunThatIsGivenBackGoesToAnotherWorker) {
  Connect("busy");
  for (int i = 0; i < 3; ++i) Accept(Numbered("t", i), 1);
  for (const GrantedRun& run : TakeGrants("busy")) Begin("busy", run);
  Connect("idle");
  Accept("a", 1);
  std::vector<GrantedRun> runs = TakeGrants("idle");
  ASSERT_THAT(runs, SizeIs(1));
  GiveBack("idle", runs[0]);
  GrantNow();
  EXPECT_THAT(TakeGrants("idle"), IsEmpty());
  runs = TakeGrants("busy");
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].thread_id, "a");
  // Neither of them executes it: it does not go to and fro without a pause.
  GiveBack("busy", runs[0]);
  GrantNow();
  EXPECT_THAT(TakeGrants("idle"), IsEmpty());
  EXPECT_THAT(TakeGrants("busy"), IsEmpty());
  PassPause();
  EXPECT_THAT(TakeGrants("idle"), SizeIs(1));
}

TEST_F(BoundedGrantsTest, ARunThatHasGoneOnIsHandedOverAtOnce) {
  Connect("first");
  Accept("a", 1);
  GiveBack("first", TakeGrants("first")[0]);
  PassPause();
  const GrantedRun run = TakeGrants("first")[0];
  Begin("first", run);
  AppendRunRequest append;
  append.thread_id = run.thread_id;
  append.run_id = run.run_id;
  append.lease_epoch = run.lease_epoch;
  append.entries = {{"node_started", "{}", 0}};
  append.current_node = "WORK";
  append.step = 1;
  EXPECT_TRUE(Send("first", Operation::kAppendRun, append).ok());
  Connect("second");
  GiveBack("first", run);
  GrantNow();
  EXPECT_THAT(TakeGrants("second"), SizeIs(1));
}

TEST_F(BoundedGrantsTest, RunsThatASilentWorkerHasNotBegunGoToAnother) {
  Connect("frozen");
  Accept("a", 1);
  Accept("b", 1);
  const std::vector<GrantedRun> runs = TakeGrants("frozen");
  ASSERT_THAT(runs, SizeIs(2));
  Begin("frozen", runs[0]);
  Connect("worker");
  for (unsigned i = 0; i < kPingsUnansweredMax + 3; ++i) {
    PassPause();
    store_->OnPong("worker", connections_["worker"]);
  }
  const std::vector<GrantedRun> again = TakeGrants("worker");
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].thread_id, "b") << "the other run may go on at any moment";
  EXPECT_EQ(again[0].attempt, 1u);
  BeginRunRequest late = RunOn("b", "", "r");
  late.granted = true;
  late.granted_epoch = runs[1].lease_epoch;
  EXPECT_EQ(Send("frozen", Operation::kBeginRun, late).code(), StatusCode::kFenced);
  Begin("worker", again[0]);
}

TEST_F(BoundedGrantsTest, TheRunsThatWaitForAWorkerAreLimited) {
  AcceptRunRequest accept;
  const auto send = [&](size_t i) {
    accept.begin = RunOn(Numbered("t", static_cast<int>(i)), "", "r");
    const std::string bytes = pack::ToBytes(accept);
    pack::Unpacker unpacker(bytes);
    store_->Apply({"client", connections_["client"], ++sequence_},
                  {sequence_, sequence_, Operation::kAcceptRun, UnixMicros()}, unpacker);
  };
  constexpr size_t kBatch = 4096;
  for (size_t i = 0; i < Store::kWaitersMax; ++i) {
    send(i);
    if (i % kBatch == 0) Commit();
  }
  Commit();
  send(Store::kWaitersMax);
  const std::vector<StoreReply> refused = Commit();
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_EQ(refused[0].status.code(), StatusCode::kResourceExhausted);
  Connect("worker");
  send(Store::kWaitersMax);
  EXPECT_TRUE(Commit().at(0).status.ok()) << "some were granted";
}

TEST_F(BoundedGrantsTest, RunsThatEndUnexecutedLeaveRoom) {
  for (int i = 0; i < 8; ++i) Accept(Numbered("t", i), 4 * kMiB);
  Connect("worker");
  const std::vector<GrantedRun> first = TakeGrants("worker");
  ASSERT_THAT(first, SizeIs(4));
  for (const GrantedRun& run : first) {
    EXPECT_TRUE(
        Send("worker", Operation::kDeleteThread, ThreadRequest{Scope::All(), run.thread_id}).ok());
  }
  PassPause();
  EXPECT_THAT(TakeGrants("worker"), SizeIs(4));
}

}  // namespace
}  // namespace agent_graph::state
