// Keeps reads away from the moment in which LevelDB replaces the tables of a compaction.
//
// LevelDB removes the tables that a compaction has replaced right after it, but not those that a
// read uses, and looks for them again only after the next compaction. On a full disk the next one
// may wait for just this space, and then it waits forever. A read that takes longer than
// kClosedMax, such as a check of all rows, can still cause that.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "state/leveldb/disk/reserve_file.h"

namespace agent_graph::state {

// Thread-safe. Open unless the disk is full and a compaction is about to end.
class ReadGate {
 public:
  // A read passes the gate for as long as this object lives; it is destroyed on its own thread. On
  // a closed gate it waits, but not longer than `closed_max`. A read within another read of its
  // thread passes at once: the gate waits for that one.
  class Pass {
   public:
    explicit Pass(ReadGate& gate);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    ReadGate& gate_;
    const bool is_inner_;
    const ReadGate* const outer_;  // the gate that this thread had passed before
    const bool is_counted_;
  };

  static constexpr std::chrono::seconds kClosedMax{1};

  // `reserve` null: the disk is never full.
  explicit ReadGate(std::shared_ptr<const ReserveFile> reserve,
                    std::chrono::seconds closed_max = kClosedMax)
      : reserve_(std::move(reserve)), closed_max_(closed_max) {}

  // LevelDB's background work, on one thread: between these two it may close the gate.
  void WorkBegins();
  void WorkEnds();
  // Call before LevelDB installs new tables: waits until no read is under way, or for `closed_max`.
  // Does nothing outside of background work.
  void Close();
  // Call when LevelDB has decided which tables it removes.
  void Open();

  // For tests.
  bool is_closed() const;
  int waiting() const;  // reads

 private:
  // Returns true if Leave must be called.
  bool Enter();
  void Leave();
  bool is_used() const { return reserve_ != nullptr && reserve_->low(); }

  const std::shared_ptr<const ReserveFile> reserve_;
  const std::chrono::seconds closed_max_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool works_ AG_GUARDED_BY(mutex_) = false;
  bool closed_ AG_GUARDED_BY(mutex_) = false;
  int reads_ AG_GUARDED_BY(mutex_) = 0;  // under way
  int waiting_ AG_GUARDED_BY(mutex_) = 0;
};

}  // namespace agent_graph::state
