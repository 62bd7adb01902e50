// Accounts for the memory of a worker's requests, and makes requests wait for memory.
//
// Three sums are kept:
//
//   buffered   bodies of requests in progress, messages of WebSockets, and replies that have not
//              left nginx. New requests are refused when it exceeds limits.buffered_bytes_max.
//   in_memory  an estimate of the memory that requests take: the part of `buffered` that is neither
//              in a file nor parsed, and what the engine holds, such as parsed JSON and the thread
//              of a run. The engine holds several times the size of a body, so a request that needs
//              much waits until it fits below the same bound.
//   kept       caches, which only make later requests cheaper. They are freed before any request
//              has to wait.
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

  enum class Order : uint8_t {
    kSmallFirst,  // small amounts pass large ones, see AwaitRoom
    kStrict,      // nothing is small
  };

  explicit WorkerMemory(uint64_t bytes_max = kUnlimited, Order order = Order::kSmallFirst);
  WorkerMemory(const WorkerMemory&) = delete;
  WorkerMemory& operator=(const WorkerMemory&) = delete;

  void CountBuffered(int64_t bytes);
  // CountBuffered for replies that have not left nginx.
  void CountReplies(int64_t bytes);
  // The part of `buffered` that is not in memory.
  void CountElsewhere(int64_t bytes);
  void CountHeld(int64_t bytes);
  // Counts memory of caches, which `give_up` frees, at once or soon. `give_up` is called when there
  // is little room, on any thread and possibly with this object locked: of this object it may call
  // only CountKept. Set it before use.
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

  // Waits until there is room for `bytes`, and counts them as held. A request that needs more than
  // the bound is admitted when half of the bound is free, because small requests of a busy worker
  // never leave all of it free. Requests are admitted in order, but small amounts do not wait
  // behind large ones, and may exceed the bound by a quarter. kDeadlineExceeded, kCancelled:
  // nothing was counted.
  //
  // A request that already holds `own_bytes` and needs more is admitted before those that hold
  // less. Such requests must not all wait for each other. So memory of waiting requests does not
  // count against the first of them, while requests in progress hold less than half of the bound.
  // The first is the one that holds most: if each got a turn, all would grow together, beyond the
  // bound.
  Status AwaitRoom(uint64_t bytes, const runtime::Cancellation& cancellation, Deadline deadline,
                   uint64_t own_bytes = 0);
  // AwaitRoom for the text of a body that is about to be read into memory. The text must fit into
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
  // Without caches, because they never keep a request waiting.
  int64_t InMemory() const { return buffered_ - elsewhere_ + held_; }
  bool IsSmall(int64_t bytes) const;
  bool Fits(const Wanted& wanted) const AG_REQUIRES(mutex_);
  bool MayGoFirst(const Wanted& wanted) const AG_REQUIRES(mutex_);
  void Take(const Wanted& wanted) AG_REQUIRES(mutex_);
  void AdmitWaiters();

  const int64_t bytes_max_;
  const int64_t small_max_;
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
