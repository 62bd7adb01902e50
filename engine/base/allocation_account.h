// What a user function holds by operator new, so that one that allocates without end costs its run
// only.
//
// A scope sets the calling thread's account; the operators that the module exports
// (ngx_module/operator_new.cc) count on it what they allocate and free, and throw std::bad_alloc at
// its bound. A program without these operators counts nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace agent_graph {

// Used by one thread at a time; a fiber takes its own along when it is suspended.
class AllocationAccount {
 public:
  explicit AllocationAccount(uint64_t bytes_max);
  AllocationAccount(const AllocationAccount&) = delete;
  AllocationAccount& operator=(const AllocationAccount&) = delete;

  // Of the calling thread; null: nobody counts.
  static AllocationAccount*& Current() { return current_; }

  // False when `bytes` more would pass the bound. From then on there is a reserve beyond it: what
  // unwinds is no different for an operator, and destructors that allocate must not fail.
  bool Admit(size_t bytes) {
    if (held_ <= limit_ && bytes <= static_cast<uint64_t>(limit_ - held_)) [[likely]]
      return true;
    return tolerated_ > 0 || Refuse();
  }
  void Add(size_t bytes) { held_ += static_cast<int64_t>(bytes); }
  void Subtract(size_t bytes) { held_ -= static_cast<int64_t>(bytes); }

  // Less than nothing when more of what others allocated was freed.
  int64_t held() const { return held_; }
  uint64_t bytes_max() const { return static_cast<uint64_t>(bytes_max_); }
  bool refused() const { return refused_; }

 private:
  friend class TolerateAllocations;

  bool Refuse();

  inline static constinit thread_local AllocationAccount* current_ = nullptr;

  const int64_t bytes_max_;
  int64_t limit_;
  int64_t held_ = 0;
  int tolerated_ = 0;
  bool refused_ = false;
};

// Counts on an account of its own what the calling thread allocates while it exists. What is left
// at the end is on the account of the scope around it, if there is one.
class AllocationScope {
 public:
  explicit AllocationScope(uint64_t bytes_max);
  AllocationScope();  // with the bound of the scope around it; without one nothing is bounded
  ~AllocationScope();
  AllocationScope(const AllocationScope&) = delete;
  AllocationScope& operator=(const AllocationScope&) = delete;

  const AllocationAccount& account() const { return account_; }

 private:
  AllocationAccount account_;
  AllocationAccount* const outer_;
};

// The engine's own code at work for a user function: counted, never refused, because nothing there
// is prepared for it.
class TolerateAllocations {
 public:
  TolerateAllocations() : account_(AllocationAccount::Current()) {
    if (account_ != nullptr) ++account_->tolerated_;
  }
  ~TolerateAllocations() {
    if (account_ != nullptr) --account_->tolerated_;
  }
  TolerateAllocations(const TolerateAllocations&) = delete;
  TolerateAllocations& operator=(const TolerateAllocations&) = delete;

 private:
  AllocationAccount* const account_;
};

// A user function's failure, as the one who calls it tells it.
struct UserFailure {
  std::string text;
  bool ours = false;  // a bound of ours, which names its key, and no text of the user's
};

// Of the exception that is being handled. Called in the scope that the function ran in.
UserFailure CaughtUserFailure();

// Whether user code's operator new is the one that counts: another module in C++ that nginx loaded
// before may have brought its own.
bool AllocationsAreCounted();

}  // namespace agent_graph
