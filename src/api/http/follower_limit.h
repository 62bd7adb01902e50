// Counts the requests of a worker that follow a run, and limits their number.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace agent_graph::api {

// Thread-safe.
class FollowerLimit {
 public:
  // Gives the place back when it is destroyed. Must not outlive the limit.
  class Place {
   public:
    explicit Place(std::atomic<size_t>* count) : count_(count) {}
    Place(Place&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (count_ != nullptr) --*count_;
    }
    // False: there are too many followers.
    explicit operator bool() const { return count_ != nullptr; }

   private:
    std::atomic<size_t>* count_;
  };

  // Takes a place if there are less than `max` followers.
  Place Enter(size_t max) {
    if (++count_ <= max) return Place(&count_);
    --count_;
    return Place(nullptr);
  }
  size_t count() const { return count_; }

 private:
  std::atomic<size_t> count_{0};
};

}  // namespace agent_graph::api
