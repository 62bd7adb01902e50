#include "state/leveldb/database/open_views.h"

namespace agent_graph::state {

uint64_t OpenViews::Add() {
  MutexLock lock(mutex_);
  open_.insert(++last_);
  return last_;
}

void OpenViews::Remove(uint64_t view) {
  MutexLock lock(mutex_);
  open_.erase(view);
  removed_.NotifyAll();
}

bool OpenViews::AwaitEarlier(Deadline deadline) {
  MutexLock lock(mutex_);
  const uint64_t last = last_;
  while (waits_ && !open_.empty() && *open_.begin() <= last) {
    if (!removed_.WaitUntil(mutex_, deadline)) break;
  }
  return open_.empty() || *open_.begin() > last;
}

void OpenViews::StopWaiting() {
  MutexLock lock(mutex_);
  waits_ = false;
  removed_.NotifyAll();
}

}  // namespace agent_graph::state
