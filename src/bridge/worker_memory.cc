#include "bridge/worker_memory.h"

#include <algorithm>

namespace agent_graph::bridge {
namespace {

// Amounts up to this part of the bound do not wait behind larger ones, and have a reserve beyond
// it: replies that nobody reads must not keep small requests waiting.
constexpr int64_t kSmallParts = 256;
constexpr int64_t kReserveParts = 4;

}  // namespace

WorkerMemory::WorkerMemory(uint64_t bytes_max)
    : bytes_max_(static_cast<int64_t>(std::min(bytes_max, kUnlimited))) {}

void WorkerMemory::CountBuffered(int64_t bytes) {
  buffered_ += bytes;
  Changed(bytes);
}

void WorkerMemory::CountElsewhere(int64_t bytes) {
  elsewhere_ += bytes;
  Changed(-bytes);
}

void WorkerMemory::CountHeld(int64_t bytes) {
  held_ += bytes;
  Changed(bytes);
}

// `bytes` more are in memory.
void WorkerMemory::Changed(int64_t bytes) {
  if (bytes < 0) return AdmitWaiters();
  // A peak that is missed because two threads raise it at once was about as high.
  if (const int64_t now = InMemory(); now > peak_) peak_ = now;
}

uint64_t WorkerMemory::TakePeak() {
  return ToUnsigned(std::max(peak_.exchange(InMemory()), InMemory()));
}

bool WorkerMemory::IsSmall(int64_t bytes) const {
  return bytes <= bytes_max_ / kSmallParts;
}

bool WorkerMemory::Fits(int64_t bytes) const {
  if (held_ <= 0) return true;
  if (bytes > bytes_max_) return InMemory() <= bytes_max_ / 2;
  const int64_t reserve = IsSmall(bytes) ? bytes_max_ / kReserveParts : 0;
  return InMemory() + bytes <= bytes_max_ + reserve;
}

Status WorkerMemory::AwaitRoom(uint64_t bytes, const runtime::Cancellation& cancellation,
                               Deadline deadline) {
  const auto wanted = static_cast<int64_t>(std::min(bytes, kUnlimited));
  std::list<Waiter>::iterator waiter;
  {
    MutexLock lock(mutex_);
    if ((waiters_.empty() || IsSmall(wanted)) && Fits(wanted)) {
      held_ += wanted;
      Changed(wanted);
      return Status::Ok();
    }
    waiter = waiters_.emplace(waiters_.end(), wanted);
    ++waiting_;
  }
  // What became free before anybody waited has woken nobody.
  AdmitWaiters();
  runtime::WakeReason reason = runtime::WakeReason::kNotified;
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (waiter->admitted || reason != runtime::WakeReason::kNotified) {
        const bool admitted = waiter->admitted;
        waiters_.erase(waiter);
        --waiting_;
        if (admitted) return Status::Ok();
        break;
      }
    }
    reason = waiter->signal.Wait(&cancellation, deadline);
  }
  AdmitWaiters();  // those behind may be smaller
  return WakeStatus(reason, &cancellation);
}

void WorkerMemory::AdmitWaiters() {
  if (waiting_ == 0) return;
  MutexLock lock(mutex_);
  bool passed_over = false;
  for (Waiter& waiter : waiters_) {
    if (waiter.admitted) continue;
    if ((passed_over && !IsSmall(waiter.bytes)) || !Fits(waiter.bytes)) {
      passed_over = true;
      continue;
    }
    waiter.admitted = true;
    held_ += waiter.bytes;
    Changed(waiter.bytes);
    waiter.signal.Notify();
  }
}

}  // namespace agent_graph::bridge
