#include "bridge/worker_memory.h"

#include <algorithm>

namespace agent_graph::bridge {
namespace {

// Each constant is a divisor: 256 means a 256th of the bound.

// Amounts up to kSmallParts do not wait behind larger ones, and may exceed the bound by
// kReserveParts: replies to slow readers must not keep small requests waiting.
constexpr int64_t kSmallParts = 256;
constexpr int64_t kReserveParts = 4;
constexpr int64_t kReplyParts = 4;    // has_many_replies() above this
constexpr int64_t kBodyParts = 2;     // limit of texts of bodies
constexpr int64_t kMessageParts = 4;  // limit of messages of WebSockets
constexpr int64_t kKeptParts = 2;     // caches are freed above this

int64_t Clamp(uint64_t bytes) {
  return static_cast<int64_t>(std::min(bytes, WorkerMemory::kUnlimited));
}

}  // namespace

WorkerMemory::WorkerMemory(uint64_t bytes_max, Order order)
    : bytes_max_(Clamp(bytes_max)),
      small_max_(order == Order::kStrict ? 0 : bytes_max_ / kSmallParts) {}

void WorkerMemory::CountBuffered(int64_t bytes) {
  buffered_ += bytes;
  Changed(bytes);
}

void WorkerMemory::CountReplies(int64_t bytes) {
  replies_ += bytes;
  CountBuffered(bytes);
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
  if (kept_ > 0 && InMemory() + kept_ > bytes_max_ / kKeptParts) give_up_();
  // A peak that is missed because two threads raise it at once was about as high.
  if (const int64_t now = InMemory(); now > peak_) peak_ = now;
}

void WorkerMemory::CountKept(int64_t bytes) {
  kept_ += bytes;
}

uint64_t WorkerMemory::TakePeak() {
  return ToUnsigned(std::max(peak_.exchange(InMemory()), InMemory()));
}

bool WorkerMemory::IsSmall(int64_t bytes) const {
  return bytes <= small_max_;
}

// If no other request is at work, a request that holds nothing yet always fits, unless replies that
// their clients do not read fill the memory.
bool WorkerMemory::Fits(const Wanted& wanted) const {
  const int64_t bytes = wanted.bytes;
  if (held_ <= 0 && !has_many_replies()) return true;
  if (wanted.own_bytes > 0) {
    const int64_t at_work = held_ - held_by_waiters_ + replies_;
    const int64_t share = std::min(wanted.own_bytes + bytes, bytes_max_ / kReserveParts);
    if (at_work + share <= bytes_max_ / 2) return true;
  }
  if (bytes > wanted.room_max) return InMemory() <= wanted.room_max / 2;
  const int64_t reserve = IsSmall(bytes) ? bytes_max_ / kReserveParts : 0;
  return InMemory() + bytes <= wanted.room_max + reserve;
}

bool WorkerMemory::is_full() const {
  return buffered_ > bytes_max_ || InMemory() > bytes_max_ + bytes_max_ / kReserveParts;
}

bool WorkerMemory::has_many_replies() const {
  return replies_ > bytes_max_ / kReplyParts;
}

bool WorkerMemory::HasInputRoom() const {
  return buffered_ - elsewhere_ - replies_ < bytes_max_ / kMessageParts;
}

bool WorkerMemory::MayGoFirst(const Wanted& wanted) const {
  if (waiters_.empty() || IsSmall(wanted.bytes)) return true;
  return wanted.own_bytes > waiters_.front().wanted.own_bytes;
}

void WorkerMemory::Take(const Wanted& wanted) {
  held_by_waiters_ -= wanted.own_bytes;
  held_ += wanted.bytes;
  Changed(wanted.bytes);
}

Status WorkerMemory::AwaitRoom(uint64_t bytes, const runtime::Cancellation& cancellation,
                               Deadline deadline, uint64_t own_bytes) {
  return Await({.bytes = Clamp(bytes), .own_bytes = Clamp(own_bytes), .room_max = bytes_max_},
               cancellation, deadline);
}

Status WorkerMemory::AwaitInputRoom(uint64_t bytes, const runtime::Cancellation& cancellation,
                                    Deadline deadline) {
  return Await({.bytes = Clamp(bytes), .own_bytes = 0, .room_max = bytes_max_ / kBodyParts},
               cancellation, deadline);
}

Status WorkerMemory::Await(const Wanted& wanted, const runtime::Cancellation& cancellation,
                           Deadline deadline) {
  std::list<Waiter>::iterator waiter;
  {
    MutexLock lock(mutex_);
    held_by_waiters_ += wanted.own_bytes;
    if (MayGoFirst(wanted) && Fits(wanted)) {
      Take(wanted);
      return Status::Ok();
    }
    const auto place = std::ranges::find_if(
        waiters_, [&](const Waiter& other) { return other.wanted.own_bytes < wanted.own_bytes; });
    waiter = waiters_.emplace(place, wanted);
    ++waiting_;
  }
  // Memory that was freed before this waiter was queued has not woken it.
  AdmitWaiters();
  runtime::WakeReason reason = runtime::WakeReason::kNotified;
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (waiter->admitted || reason != runtime::WakeReason::kNotified) {
        const bool admitted = waiter->admitted;
        if (!admitted) held_by_waiters_ -= wanted.own_bytes;
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
    if ((passed_over && !IsSmall(waiter.wanted.bytes)) || !Fits(waiter.wanted)) {
      passed_over = true;
      continue;
    }
    waiter.admitted = true;
    Take(waiter.wanted);
    waiter.signal.Notify();
  }
}

}  // namespace agent_graph::bridge
