// Limits how many requests of a worker read stored data at the same time. Their answers may be
// large, which is known only when they have been read, and each takes several copies meanwhile.
#pragma once

#include <cstddef>
#include <list>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"

namespace agent_graph::api {

// A page has up to 8 MiB, and is packed, unpacked and written as JSON.
inline constexpr size_t kPageReadsMax = 4;

// Thread-safe.
class PageReads {
 public:
  // Gives the place back when it is destroyed. Must not outlive the limit.
  class Place {
   public:
    Place() = default;
    explicit Place(PageReads& reads) : reads_(&reads) {}
    Place(Place&& other) noexcept : reads_(std::exchange(other.reads_, nullptr)) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(reads_, other.reads_);
      return *this;
    }
    ~Place() {
      if (reads_ != nullptr) reads_->Leave();
    }

   private:
    PageReads* reads_ = nullptr;
  };

  explicit PageReads(size_t places) : free_(places) {}
  PageReads(const PageReads&) = delete;
  PageReads& operator=(const PageReads&) = delete;

  // Waits for a place; first come, first served. Suspends the calling fiber.
  Result<Place> Enter(const runtime::Cancellation& cancellation, Deadline deadline);

 private:
  struct Waiter {
    bool has_place = false;
    runtime::Signal signal = {};
  };

  void Leave();

  Mutex mutex_;
  size_t free_ AG_GUARDED_BY(mutex_);
  std::list<Waiter> waiters_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::api
