// The views of a database that are open, so that a compaction can wait for old ones: LevelDB keeps
// a deleted row for as long as a view from before its deletion is open.
#pragma once

#include <cstdint>
#include <set>

#include "base/clock.h"
#include "base/mutex.h"

namespace agent_graph::state {

// Thread-safe.
class OpenViews {
 public:
  // Returns the number of a new view, which the view gives back with Remove.
  uint64_t Add();
  void Remove(uint64_t view);

  // Waits until all views that were added before this call are removed. Returns false at the
  // deadline and after StopWaiting.
  bool AwaitEarlier(Deadline deadline);
  // Ends all waits, also later ones.
  void StopWaiting();

 private:
  Mutex mutex_;
  CondVar removed_;
  uint64_t last_ AG_GUARDED_BY(mutex_) = 0;
  std::set<uint64_t> open_ AG_GUARDED_BY(mutex_);
  bool waits_ AG_GUARDED_BY(mutex_) = true;
};

}  // namespace agent_graph::state
