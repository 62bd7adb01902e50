// Accounts for the memory of a worker's requests, and makes requests wait for memory.
//
// Two sums are kept. `buffered` is what new requests are refused by (limits.buffered_bytes_max):
// bodies of requests at work, messages of WebSockets and replies that have not left nginx.
// `in_memory` is an estimate of what is really held: of `buffered` what is not in a file or parsed,
// and what the engine holds for requests besides, such as parsed JSON and the thread of a run. The
// latter is several times the size of a body, so a request that needs much waits until there is
// room below the same bound. What is `kept` only makes later requests cheaper; it is given up
// before any request has to wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"

namespace agent_graph::bridge {

// Thread-safe. Counts never block; AwaitRoom suspends the calling fiber.
class WorkerMemory {
 public:
  static constexpr uint64_t kUnlimited = std::numeric_limits<int64_t>::max() / 2;

  explicit WorkerMemory(uint64_t bytes_max = kUnlimited);
  WorkerMemory(const WorkerMemory&) = delete;
  WorkerMemory& operator=(const WorkerMemory&) = delete;

  void CountBuffered(int64_t bytes);
  // The same for replies that have not left nginx.
  void CountReplies(int64_t bytes);
  // The part of `buffered` that is not in memory.
  void CountElsewhere(int64_t bytes);
  void CountHeld(int64_t bytes);
  // Memory that `give_up` frees, now or soon. It is called when there is little room, from any
  // thread and possibly with a lock of this object, so that it must call nothing here but
  // CountKept. Set it before use.
  void CountKept(int64_t bytes);
  void SetGiveUp(std::function<void()> give_up) { give_up_ = std::move(give_up); }

  // True if what is buffered, or what is in memory beyond the reserve of small requests, exceeds
  // the bound.
  bool is_full() const;
  // True if replies that have not left nginx take more than a quarter of the bound. Streams then
  // queue less for each client, so that clients that do not read leave room for others.
  bool has_many_replies() const;
  uint64_t buffered() const { return ToUnsigned(buffered_); }
  uint64_t held() const { return ToUnsigned(held_); }
  uint64_t kept() const { return ToUnsigned(kept_); }
  uint64_t in_memory() const { return ToUnsigned(InMemory()); }
  // The most that in_memory() was since the last call.
  uint64_t TakePeak();
  // Requests in AwaitRoom.
  size_t waiting() const { return waiting_; }

  // Counts `bytes` as held once there is room for them. A request that needs more than the bound
  // gets it when half of the bound is free: on a busy worker small requests always hold something.
  // First come, first served, but small amounts do not wait behind large ones and may go a quarter
  // beyond the bound. kDeadlineExceeded, kCancelled: nothing was counted.
  //
  // A request that already holds `own_bytes` goes before those that hold less. So that such
  // requests cannot all wait for each other, it needs no room beside what others hold that wait,
  // too, as long as those at work hold less than half of the bound. It is the one that holds most,
  // because it may ask again: if each got its turn, all would grow beyond the bound together.
  Status AwaitRoom(uint64_t bytes, const runtime::Cancellation& cancellation, Deadline deadline,
                   uint64_t own_bytes = 0);
  // The same for the text of a body that is about to be read into memory. Waits until it fits into
  // half of the bound, because handling it takes several times as much.
  Status AwaitInputRoom(uint64_t bytes, const runtime::Cancellation& cancellation,
                        Deadline deadline);
  // True if a large message of a WebSocket may be read on: unhandled input takes less than a
  // quarter of the bound.
  bool HasInputRoom() const;

 private:
  struct Wanted {
    int64_t bytes;
    int64_t own_bytes;
    int64_t room_max;  // the part of the bound that it must fit into
  };
  struct Waiter {
    Wanted wanted;
    bool admitted = false;
    runtime::Signal signal = {};
  };

  static uint64_t ToUnsigned(int64_t bytes) { return bytes > 0 ? static_cast<uint64_t>(bytes) : 0; }
  void Changed(int64_t bytes);
  Status Await(const Wanted& wanted, const runtime::Cancellation& cancellation, Deadline deadline);
  // Without what is kept, because that never stands in the way of a request.
  int64_t InMemory() const { return buffered_ - elsewhere_ + held_; }
  bool IsSmall(int64_t bytes) const;
  bool Fits(const Wanted& wanted) const AG_REQUIRES(mutex_);
  bool MayGoFirst(const Wanted& wanted) const AG_REQUIRES(mutex_);
  void Take(const Wanted& wanted) AG_REQUIRES(mutex_);
  void AdmitWaiters();

  const int64_t bytes_max_;
  std::function<void()> give_up_;
  std::atomic<int64_t> buffered_{0};
  std::atomic<int64_t> elsewhere_{0};
  std::atomic<int64_t> held_{0};
  std::atomic<int64_t> replies_{0};  // part of buffered_
  std::atomic<int64_t> kept_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<size_t> waiting_{0};

  Mutex mutex_;
  std::list<Waiter> waiters_ AG_GUARDED_BY(mutex_);
  // Bytes held by requests that wait for more.
  int64_t held_by_waiters_ AG_GUARDED_BY(mutex_) = 0;
};

}  // namespace agent_graph::bridge
