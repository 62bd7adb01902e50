// Accepted runs whose workers crash: which of them are suspected, and which are poisoned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../requests.h"
#include "base/process.h"
#include "state/requests.h"
#include "state/thread/run_read.h"
#include "store_in_memory.h"

namespace agent_graph::state {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// Workers with processes of their own, which crash.
class CrashTest : public StoreInMemory {
 protected:
  struct Worker {
    std::string client;
    pid_t process = 0;
    uint64_t connection = 0;
    std::vector<GrantedRun> runs;
  };

  void TearDown() override {
    for (auto& [connection, worker] : workers_) End(worker);
  }
  Worker& Start() {
    Worker& worker = workers_[++connection_];
    worker.client = "w" + std::to_string(connection_);
    worker.connection = connection_;
    worker.process = fork();
    if (worker.process == 0) {
      pause();
      _exit(0);
    }
    store_->Connect({.client = worker.client,
                     .process = worker.process,
                     .process_start = ProcessStartTime(worker.process),
                     .answers_pings = true,
                     .takes_runs = true},
                    connection_);
    Commit();
    return worker;
  }
  static void End(const Worker& worker) {
    kill(worker.process, SIGKILL);
    waitpid(worker.process, nullptr, 0);
  }
  // All runs that it holds are lost; another worker takes its place.
  void Crash(Worker& worker) {
    End(worker);
    const uint64_t connection = worker.connection;
    store_->Disconnect(worker.client, connection);
    workers_.erase(connection);
    store_->Tick(MonotonicClock::now());
    Commit();
    Start();
  }
  void Commit() {
    Result<std::vector<StoreReply>> replies = store_->Commit();
    ASSERT_TRUE(replies.ok());
    for (const StoreReply& reply : *replies) EXPECT_TRUE(reply.status.ok());
    for (Store::Report& report : store_->TakeReports()) reports_.push_back(std::move(report));
    for (Store::Notice& notice : store_->TakeNotices()) {
      auto* granted = std::get_if<GrantedRun>(&notice.message);
      if (granted != nullptr) workers_.at(notice.connection).runs.push_back(std::move(*granted));
    }
  }
  template <typename Body>
  void Send(const Worker& worker, Operation operation, const Body& body) {
    const std::string bytes = pack::ToBytes(body);
    pack::Unpacker unpacker(bytes);
    store_->Apply({worker.client, worker.connection, ++sequence_},
                  {sequence_, 0, operation, UnixMicros()}, unpacker);
    Commit();
  }
  void Accept(const std::string& thread_id) {
    AcceptRunRequest accept;
    accept.begin = RunOn(thread_id, "", "r");
    accept.request = "request";
    accept.continued_until_micros = UnixMicros() + int64_t{3600} * 1'000'000;
    Send(workers_.begin()->second, Operation::kAcceptRun, accept);
  }
  // The worker to which the run was granted last.
  Worker& HolderOf(const std::string& thread_id) {
    for (auto& [connection, worker] : workers_) {
      for (const GrantedRun& run : worker.runs) {
        if (run.thread_id == thread_id) return worker;
      }
    }
    ADD_FAILURE() << thread_id << " is not granted";
    return workers_.begin()->second;
  }
  // The run is in a function, or at a model.
  void Arrive(const std::string& thread_id, bool in_user_code = true) {
    const Worker& worker = HolderOf(thread_id);
    for (const GrantedRun& run : worker.runs) {
      if (run.thread_id != thread_id) continue;
      BeginRunReply begun;
      begun.lease_epoch = run.lease_epoch;
      AppendRunRequest append = AppendOf(RunOn(thread_id, "", "r"), begun);
      append.entries = {{"attempt_started", "{}", 0}};
      append.current_node = "WORK";
      append.step = 1;
      append.in_user_code = in_user_code;
      Send(worker, Operation::kAppendRun, append);
    }
  }
  std::string ReasonOf(const std::string& thread_id) {
    const Result<RunRecord> run =
        ReadRun(DatabaseSnapshot(*database_), {Scope::All(), thread_id, "r"});
    EXPECT_TRUE(run.ok());
    return run.ok() ? run->reason : "unread";
  }

  uint64_t connection_ = 0;
  uint64_t sequence_ = 0;
  std::map<uint64_t, Worker> workers_;  // by connection
  std::vector<Store::Report> reports_;
};

TEST_F(CrashTest, TwoCrashesAloneAfterTheFirstEndARun) {
  Start();
  Start();
  Accept("guilty");
  for (int crashes = 1; crashes <= 3; ++crashes) {
    EXPECT_EQ(ReasonOf("guilty"), "") << crashes;
    Arrive("guilty");
    Crash(HolderOf("guilty"));
  }
  EXPECT_EQ(ReasonOf("guilty"), "poisoned");
}

TEST_F(CrashTest, ARunOutsideOfUserCodeIsNotSuspected) {
  Start();
  Accept("innocent");
  for (int crashes = 0; crashes < 10; ++crashes) {
    Arrive("innocent", /*in_user_code=*/false);
    Crash(HolderOf("innocent"));
  }
  EXPECT_EQ(ReasonOf("innocent"), "");
}

TEST_F(CrashTest, SuspectsRunInWorkersOfTheirOwn) {
  Start();
  Accept("guilty");
  Accept("innocent");
  Arrive("guilty");
  Arrive("innocent");
  Crash(HolderOf("guilty"));
  Start();
  store_->Tick(MonotonicClock::now() + std::chrono::seconds(2));
  Commit();
  EXPECT_NE(&HolderOf("guilty"), &HolderOf("innocent"));
  for (int crashes = 2; crashes <= 3; ++crashes) {
    Arrive("guilty");
    Arrive("innocent");
    Crash(HolderOf("guilty"));
  }
  EXPECT_EQ(ReasonOf("guilty"), "poisoned");
  EXPECT_EQ(ReasonOf("innocent"), "");
}

// A run that became a suspect beside one guilty run may meet others that are not suspected yet.
TEST_F(CrashTest, ACrashBesideOthersInUserCodeIsNoProof) {
  const std::string kInnocent =
      "a";  // runs that a worker loses are granted again in the order of threads
  Start();
  Accept(kInnocent);
  Arrive(kInnocent);
  Crash(HolderOf(kInnocent));
  for (int crashes = 0; crashes < 4; ++crashes) {
    const std::string guilty = "guilty" + std::to_string(crashes);
    Accept(guilty);
    Arrive(guilty);
    Arrive(kInnocent);
    // The guilty one now waits: the only worker has a suspect.
    Crash(HolderOf(kInnocent));
    EXPECT_EQ(ReasonOf(kInnocent), "") << crashes;
  }
  // Without an end, a run that crashes a busy worker would do it again and again.
  Accept("other");
  Arrive("other");
  Arrive(kInnocent);
  Crash(HolderOf(kInnocent));
  EXPECT_EQ(ReasonOf(kInnocent), "poisoned");
}

TEST_F(CrashTest, RunsThatAreGivenBackAndLeavingWorkersDoNotCount) {
  Start();
  Accept("t");
  for (int i = 0; i < 10; ++i) {
    Arrive("t");
    Worker& leaving = HolderOf("t");
    Start();
    if (i % 3 == 0) {
      store_->Leave(leaving.client, leaving.connection);
    } else {
      store_->RefuseGrants(leaving.client, leaving.connection);
    }
    if (i % 3 == 1) {
      Send(leaving, Operation::kHandOverRun,
           HandOverRunRequest{"t", "r", leaving.runs.back().lease_epoch});
    }
    End(leaving);  // in the third case its function has not returned in time
    store_->Disconnect(leaving.client, leaving.connection);
    workers_.erase(leaving.connection);
    store_->Tick(MonotonicClock::now() + std::chrono::seconds(2));
    Commit();
  }
  EXPECT_EQ(ReasonOf("t"), "");
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(CrashTest, ACrashIsReportedWithTheRunAndItsFate) {
  Start();
  Accept("t");
  for (int crashes = 1; crashes <= 3; ++crashes) {
    Arrive("t");
    Worker& worker = HolderOf("t");
    const std::string process = "process " + std::to_string(worker.process);
    Crash(worker);
    ASSERT_THAT(reports_, SizeIs(crashes));
    EXPECT_EQ(reports_.back().level, LogLevel::kError);
    EXPECT_THAT(reports_.back().text,
                StartsWith(process + " died while it executed user code in node WORK of run r of "
                                     "thread t: "));
    EXPECT_THAT(reports_.back().text,
                EndsWith(crashes < 3 ? "a worker continues the run"
                                     : "the run ends as poisoned, because its user code has "
                                       "crashed its workers repeatedly"));
  }
}

TEST_F(CrashTest, ARunThatDependsOnItsClientEndsWithItsWorker) {
  Worker& worker = Start();
  Send(worker, Operation::kBeginRun, RunOn("t", "", "r"));
  Crash(worker);
  ASSERT_THAT(reports_, SizeIs(1));
  EXPECT_THAT(reports_[0].text,
              HasSubstr("the first functions of run r of thread t: the run ends as worker_lost, "
                        "because only runs in the background are continued"));
}

TEST_F(CrashTest, ABusyWorkerIsReportedWithSomeOfItsRunsAndNoneThatWaitAtAModel) {
  Worker& worker = Start();
  for (int i = 0; i < 20; ++i) {
    const std::string thread_id = "t" + std::to_string(i);
    Accept(thread_id);
    Arrive(thread_id, /*in_user_code=*/i >= 8);
  }
  Crash(worker);
  EXPECT_THAT(reports_, SizeIs(10));
  EXPECT_THAT(reports_,
              Not(Contains(testing::Field(&Store::Report::text, HasSubstr("thread t7")))));
}

}  // namespace
}  // namespace agent_graph::state
