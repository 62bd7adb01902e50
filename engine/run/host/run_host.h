// Executes accepted runs in this worker: those that the state grants to it. No client is connected
// to such a run; clients follow its log.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "run/hand_over.h"
#include "run/host/live_run.h"
#include "run/host/local_runs.h"
#include "run/host/remote_run.h"
#include "run/loop/runner.h"
#include "run/run_environment.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"
#include "state/runs.h"

namespace agent_graph::runtime {
class Runtime;
}
namespace agent_graph::state {
class Service;
}

namespace agent_graph::run {

struct RunHostOptions {
  // Runs that are executed at once. Further ones wait here; while the requests that wait are larger
  // than 64 MiB together, they are given back.
  size_t runs_max = 8192;
  size_t starts_max = 16;  // runs of lost workers that are being loaded at once
  // Returns the memory that a run takes for a thread and a partial reply of so many bytes of JSON.
  // Empty: their sum.
  std::function<uint64_t(uint64_t thread_bytes, uint64_t reply_bytes)> memory_of;
  // Counts bytes that runs hold (negative: less) as memory of the worker. May be empty.
  std::function<void(int64_t bytes)> count_bytes;
  // Waits until the worker has room for so many bytes, which then count; the run holds `own_bytes`
  // already. May be empty.
  std::function<Status(uint64_t bytes, uint64_t own_bytes,
                       const runtime::Cancellation& cancellation, Deadline deadline)>
      await_bytes;
  // Called before each attempt: authorizes the user of the run again. kPermissionDenied and
  // kDataLoss (a damaged request) end the run; after another failure it is given back. May suspend.
  // May be empty.
  std::function<Status(const RunRequest& request, const runtime::Cancellation& cancellation)>
      authorize;
  // Called when a run has ended here and its end is stored, and not when another worker continues
  // it. May be empty.
  std::function<void(const RunOutcome& outcome, runtime::CancelReason reason)> on_ended;
  LogFunction log;  // may be empty
};

// Thread-safe. Must outlive the fibers of its runs.
class RunHost {
 public:
  RunHost(Runner& runner, state::Service& state, runtime::Runtime& runtime, RunHostOptions options);

  // Starts the run on a fiber of its own. Called on any thread; never blocks.
  void Execute(state::GrantedRun granted);
  // Ends a run that was asked to stop before it has begun, also if it waits for other runs to end.
  // Called on any thread; never blocks.
  void Cancel(const std::string& thread_id, const std::string& run_id);
  // The runs of this worker: accepted ones, and those of connected clients.
  LocalRuns& local() { return local_; }
  // The runs of other workers.
  RemoteRuns& remote() { return remote_; }
  // Number of runs that were granted and have not ended or left.
  size_t count() const;
  // For a worker that leaves. Runs that are granted from now on are given back at once. Followers
  // of runs that are not here go within `followers_go_within`.
  void Leave(std::chrono::milliseconds followers_go_within = {});
  // When a follower must go: `share` (from 0 to 1) of that time has passed. kNoDeadline: the worker
  // does not leave.
  Deadline LeaveTime(double share) const;
  // Makes runs leave at their next node boundary: another worker continues them.
  void HandOver();
  // Also cancels model calls and idempotent tools. Runs in other user code end with the process.
  void HandOverNow();

 private:
  struct Hosted {
    std::shared_ptr<LiveRun> live = std::make_shared<LiveRun>();
    runtime::Cancellation cancellation;
    std::shared_ptr<run::HandOver> hand_over = std::make_shared<run::HandOver>(cancellation);
  };
  using Key = std::pair<std::string, std::string>;  // thread and run
  struct Start;
  using Deadlines = std::multimap<Deadline, std::shared_ptr<Start>>;
  struct Start {
    Key key;
    std::shared_ptr<Hosted> hosted;
    state::GrantedRun granted;
    size_t bytes = 0;                                  // size of the request
    bool continues = false;                            // a part of the run is stored
    std::optional<Deadlines::iterator> deadline = {};  // set while it waits
  };

  void Enqueue(std::shared_ptr<Start> start) AG_REQUIRES(mutex_);
  bool MayStart(const Start& start) const AG_REQUIRES(mutex_);
  // A run that waits starts next, and is only given back: the state knows why, and ends it.
  void GiveBack(std::deque<std::shared_ptr<Start>>::iterator waits) AG_REQUIRES(mutex_);
  // Gives waiting runs back at their deadlines, until no run waits that has one.
  void WatchDeadlines();
  Deadline NextDeadline() AG_REQUIRES(mutex_);
  void ForgetDeadline(Start& start) AG_REQUIRES(mutex_);
  // Spawns the fibers of waiting runs, as far as the limits permit.
  void StartWaiting();
  void EndStart();
  void Remove(const Start& start);
  void Run(Start& start);
  // Executes the run until it ends or leaves this worker. Returns its failure, if it has one.
  Status Begin(Start& start, std::shared_ptr<void> loading);
  void CountBytes(int64_t bytes) const;
  void NoteEnd(const RunOutcome& outcome, const Hosted& hosted) const;
  void Log(LogLevel level, const std::string& run_id, const Status& status) const;

  Runner& runner_;
  state::Service& state_;
  runtime::Runtime& runtime_;
  const RunHostOptions options_;
  LocalRuns local_;
  RemoteRuns remote_;

  mutable Mutex mutex_;
  std::map<Key, std::shared_ptr<Hosted>> runs_ AG_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Start>> waiting_ AG_GUARDED_BY(mutex_);
  Deadlines deadlines_ AG_GUARDED_BY(mutex_);  // of runs in waiting_
  bool watches_deadlines_ AG_GUARDED_BY(mutex_) = false;
  runtime::Signal deadlines_changed_;
  size_t waiting_bytes_ AG_GUARDED_BY(mutex_) = 0;
  size_t active_ AG_GUARDED_BY(mutex_) = 0;   // runs with a fiber
  size_t loading_ AG_GUARDED_BY(mutex_) = 0;  // those of them that are being loaded to continue
  bool leaving_ AG_GUARDED_BY(mutex_) = false;
  MonotonicClock::time_point left_at_ AG_GUARDED_BY(mutex_);
  std::chrono::milliseconds followers_go_within_ AG_GUARDED_BY(mutex_){};
};

}  // namespace agent_graph::run
