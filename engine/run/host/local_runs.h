// The runs that this worker executes, as they are followed here and in other workers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "run/host/live_run.h"
#include "state/run_watch.h"

namespace agent_graph::runtime {
class Runtime;
}
namespace agent_graph::state {
class Service;
}

namespace agent_graph::run {

// Thread-safe. Must outlive the fibers of `runtime`.
class LocalRuns {
 public:
  // `count_bytes` counts bytes that runs hold (negative: less) as memory of the worker; may be
  // empty.
  LocalRuns(state::Service& state, runtime::Runtime& runtime,
            std::function<void(int64_t bytes)> count_bytes)
      : state_(state), runtime_(runtime), count_bytes_(std::move(count_bytes)) {}

  // Adds an attempt of a run. Replaces an earlier attempt, whose fiber may not have ended yet.
  void Add(const std::string& thread_id, const std::string& run_id, std::shared_ptr<LiveRun> live);
  // Ends this attempt for its followers. Does not remove a later attempt that has replaced it.
  void Remove(const std::string& thread_id, const std::string& run_id, LiveRun& live);
  // Null if the run is not here. Clients choose run ids, so that two threads may have the same one.
  std::shared_ptr<LiveRun> Find(const std::string& thread_id, const std::string& run_id) const;
  // Clients of other workers follow the run: publishes its message in progress, as long as they do.
  // If the run is not here yet, it is published as soon as Add is called for it.
  void Publish(const state::RunWatched& watched);
  void CountBytes(int64_t bytes) const {
    if (count_bytes_) count_bytes_(bytes);
  }

 private:
  using Key = std::pair<std::string, std::string>;  // thread and run
  struct Place {
    std::shared_ptr<LiveRun> live;
    uint64_t watch = 0;  // use WatchOf
  };

  // Number of the latest watch; 0: no other worker watches.
  uint64_t& WatchOf(Place& place) const AG_REQUIRES(mutex_) { return place.watch; }

  state::Service& state_;
  runtime::Runtime& runtime_;
  const std::function<void(int64_t bytes)> count_bytes_;
  mutable Mutex mutex_;
  std::map<Key, std::shared_ptr<Place>> runs_ AG_GUARDED_BY(mutex_);
  std::map<Key, uint64_t> early_watches_ AG_GUARDED_BY(mutex_);  // of runs that are not here yet
};

}  // namespace agent_graph::run
