// Counts the requests of a worker that follow a run, and limits their number, for the worker and
// for each thread.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "base/thread_annotations.h"

namespace agent_graph::api {

// Thread-safe.
class FollowerLimit {
 public:
  // Gives the place back when it is destroyed. Must not outlive the limit.
  class Place {
   public:
    Place() = default;  // no place
    Place(FollowerLimit* limit, std::string thread_id)
        : limit_(limit), thread_id_(std::move(thread_id)) {}
    Place(Place&& other) noexcept
        : limit_(std::exchange(other.limit_, nullptr)), thread_id_(std::move(other.thread_id_)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (limit_ != nullptr) limit_->Leave(thread_id_);
    }
    // False: there are too many followers.
    explicit operator bool() const { return limit_ != nullptr; }

   private:
    FollowerLimit* limit_ = nullptr;
    std::string thread_id_;
  };

  // Takes a place if there are less than `max` followers, and less than half of that follow this
  // thread, so that the readers of one thread leave room for those of others. Empty `thread_id`:
  // the thread does not exist yet, and only `max` counts.
  Place Enter(const std::string& thread_id, size_t max);
  size_t count() const;

 private:
  void Leave(const std::string& thread_id);

  mutable Mutex mutex_;
  size_t count_ AG_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, size_t> of_thread_ AG_GUARDED_BY(mutex_);  // all are above 0
};

}  // namespace agent_graph::api
