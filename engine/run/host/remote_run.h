// A run that another worker executes, as its followers in this worker see it. However many they
// are, one of them asks the state for all: each piece of a message comes once to a worker.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "run/host/live_run.h"
#include "runtime/cancellation.h"
#include "state/run_watch.h"
#include "state/service.h"
#include "state/types.h"

namespace agent_graph::run {

// Counts bytes that are held as memory of the worker; negative: less.
using CountBytes = std::function<void(int64_t bytes)>;

// Thread-safe.
class RemoteRun {
 public:
  RemoteRun(state::Service& state, CountBytes count_bytes, std::string thread_id,
            uint64_t thread_number, std::string run_id);
  ~RemoteRun();
  RemoteRun(const RemoteRun&) = delete;
  RemoteRun& operator=(const RemoteRun&) = delete;

  // The known part of the run.
  const LiveRun& live() const { return live_; }
  // Suspends until more may be known than at `version`; asks the state, with the follower's scope,
  // unless another follower does. kUnavailable, kResourceExhausted: the state cannot tell.
  // kNotFound: no such run. kCancelled. Ok at the deadline.
  Status Await(uint64_t version, const state::Scope& scope,
               const runtime::Cancellation& cancellation, Deadline deadline);

 private:
  bool TakeLead();
  void LeaveLead();
  Status Ask(const state::Scope& scope, const runtime::Cancellation& cancellation,
             Deadline deadline);
  void Apply(const state::WatchRunReply& reply);

  state::Service& state_;
  const CountBytes count_bytes_;
  LiveRun live_;
  Mutex mutex_;
  bool has_leader_ AG_GUARDED_BY(mutex_) = false;

  // Used by the leader only: the known state of the run, for the next request.
  state::WatchRunRequest known_;
  uint64_t counted_ = 0;
};

// The runs of other workers that are followed in this one. Thread-safe.
class RemoteRuns {
 public:
  RemoteRuns(state::Service& state, CountBytes count_bytes)
      : state_(state), count_bytes_(std::move(count_bytes)) {}

  // The followers of a run share it, while there are any.
  std::shared_ptr<RemoteRun> Join(const std::string& thread_id, uint64_t thread_number,
                                  const std::string& run_id);

 private:
  using Key = std::tuple<std::string, uint64_t, std::string>;

  state::Service& state_;
  const CountBytes count_bytes_;
  Mutex mutex_;
  std::map<Key, std::weak_ptr<RemoteRun>> runs_ AG_GUARDED_BY(mutex_);
  size_t sweep_at_ AG_GUARDED_BY(mutex_) = 64;  // number of runs at which old ones are removed
};

}  // namespace agent_graph::run
