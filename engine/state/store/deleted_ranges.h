// The key ranges in which rows were deleted while the disk was full, and the compactions that free
// their space.
#pragma once

#include "base/clock.h"
#include "base/mutex.h"
#include "state/rows/database.h"
#include "state/rows/key_ranges.h"

namespace agent_graph::state {

// Thread-safe. Keeps one range for each table of rows, so it is bounded.
class DeletedRanges {
 public:
  void Add(const KeyRanges& ranges);
  // Compacts the ranges while the database is low on space, again and again because readers may
  // have held some of it, and forgets them when there has been space for a minute. Blocks until
  // Stop; call it on a thread of its own.
  void Reclaim(Database& database);
  void Stop();

 private:
  // Waits until `earliest`, and then for new ranges until `latest`; adds them to `ranges`.
  // `has_new`: there were some. Returns false after Stop.
  bool Take(Deadline earliest, Deadline latest, KeyRanges& ranges, bool& has_new);
  bool stopped() const;

  mutable Mutex mutex_;
  CondVar changed_;
  KeyRanges new_ AG_GUARDED_BY(mutex_);
  bool stopped_ AG_GUARDED_BY(mutex_) = false;
};

}  // namespace agent_graph::state
