#include "state/leveldb/disk/read_gate.h"

#include "base/clock.h"

namespace agent_graph::state {
namespace {

// The gate of the outermost read of this thread.
thread_local constinit const ReadGate* passed_gate = nullptr;

}  // namespace

ReadGate::Pass::Pass(ReadGate& gate)
    : gate_(gate),
      is_inner_(passed_gate == &gate),
      outer_(passed_gate),
      is_counted_(!is_inner_ && gate.Enter()) {
  passed_gate = &gate;
}

ReadGate::Pass::~Pass() {
  if (is_inner_) return;
  passed_gate = outer_;
  if (is_counted_) gate_.Leave();
}

bool ReadGate::Enter() {
  if (!is_used()) return false;
  MutexLock lock(mutex_);
  const Deadline end = DeadlineAfter(closed_max_);
  ++waiting_;
  while (closed_ && changed_.WaitUntil(mutex_, end)) continue;
  --waiting_;
  ++reads_;
  return true;
}

void ReadGate::Leave() {
  MutexLock lock(mutex_);
  if (--reads_ == 0) changed_.NotifyAll();
}

void ReadGate::WorkBegins() {
  MutexLock lock(mutex_);
  works_ = true;
}

void ReadGate::WorkEnds() {
  MutexLock lock(mutex_);
  works_ = false;
  closed_ = false;
  changed_.NotifyAll();
}

void ReadGate::Close() {
  if (!is_used()) return;
  MutexLock lock(mutex_);
  if (!works_) return;
  closed_ = true;
  const Deadline end = DeadlineAfter(closed_max_);
  while (reads_ > 0 && changed_.WaitUntil(mutex_, end)) continue;
}

bool ReadGate::is_closed() const {
  MutexLock lock(mutex_);
  return closed_;
}

int ReadGate::waiting() const {
  MutexLock lock(mutex_);
  return waiting_;
}

void ReadGate::Open() {
  MutexLock lock(mutex_);
  if (!closed_) return;
  closed_ = false;
  changed_.NotifyAll();
}

}  // namespace agent_graph::state
