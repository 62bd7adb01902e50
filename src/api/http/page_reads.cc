#include "api/http/page_reads.h"

namespace agent_graph::api {

Result<PageReads::Place> PageReads::Enter(const runtime::Cancellation& cancellation,
                                          Deadline deadline) {
  std::list<Waiter>::iterator waiter;
  {
    MutexLock lock(mutex_);
    if (free_ > 0) {  // no other reader waits
      --free_;
      return Place(*this);
    }
    waiter = waiters_.emplace(waiters_.end());
  }
  runtime::WakeReason reason = runtime::WakeReason::kNotified;
  for (;;) {
    {
      MutexLock lock(mutex_);
      const bool has_place = waiter->has_place;
      if (has_place || reason != runtime::WakeReason::kNotified) {
        waiters_.erase(waiter);
        if (has_place) return Place(*this);
        return runtime::WakeStatus(reason, &cancellation);
      }
    }
    reason = waiter->signal.Wait(&cancellation, deadline);
  }
}

void PageReads::Leave() {
  MutexLock lock(mutex_);
  for (Waiter& waiter : waiters_) {
    if (waiter.has_place) continue;
    waiter.has_place = true;
    waiter.signal.Notify();
    return;
  }
  ++free_;
}

}  // namespace agent_graph::api
