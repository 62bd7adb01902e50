// Counts the bytes that a user function holds by operator new, and limits them, so that a function
// that allocates without limit fails alone and does not take the process down.
//
// A scope sets the calling thread's account. The operators that the module exports
// (ngx_module/operator_new.cc) add and subtract there what they allocate and free, and throw
// std::bad_alloc at the limit. A program without these operators counts nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace agent_graph {

// Used by one thread at a time. A fiber keeps its account when it is suspended.
class AllocationAccount {
 public:
  explicit AllocationAccount(uint64_t bytes_max);
  AllocationAccount(const AllocationAccount&) = delete;
  AllocationAccount& operator=(const AllocationAccount&) = delete;

  // The calling thread's account; null: allocations are not counted.
  static AllocationAccount*& Current() { return current_; }

  // False: no thread has an account. Much cheaper than Current(), whose thread-local address the
  // module has to look up.
  static bool IsAnyInUse() { return scopes_.load(std::memory_order_relaxed) > 0; }

  // False if `bytes` more would exceed the limit. After the first refusal a reserve beyond the
  // limit may be used: operator new cannot see that the stack is being unwound, and destructors
  // that allocate must not fail.
  bool Admit(size_t bytes) {
    if (held_ <= limit_ && bytes <= static_cast<uint64_t>(limit_ - held_)) [[likely]]
      return true;
    return tolerated_ > 0 || Refuse();
  }
  void Add(size_t bytes) { held_ += static_cast<int64_t>(bytes); }
  void Subtract(size_t bytes) { held_ -= static_cast<int64_t>(bytes); }

  // Negative if more was freed of memory that other accounts had allocated.
  int64_t held() const { return held_; }
  uint64_t bytes_max() const { return static_cast<uint64_t>(bytes_max_); }
  bool refused() const { return refused_; }

 private:
  friend class AllocationScope;
  friend class TolerateAllocations;

  bool Refuse();

  // All scopes, also those of fibers that are suspended. A thread sees its own scopes here.
  inline static constinit std::atomic<int> scopes_ = 0;
  inline static constinit thread_local AllocationAccount* current_ = nullptr;

  const int64_t bytes_max_;
  int64_t limit_;
  int64_t held_ = 0;
  int tolerated_ = 0;
  bool refused_ = false;
};

// Counts what the calling thread allocates during the scope on an account of its own. At the end
// the bytes still held are added to the account of the enclosing scope, if there is one.
class AllocationScope {
 public:
  explicit AllocationScope(uint64_t bytes_max);
  AllocationScope();  // limit of the enclosing scope; no limit without one
  ~AllocationScope();
  AllocationScope(const AllocationScope&) = delete;
  AllocationScope& operator=(const AllocationScope&) = delete;

  const AllocationAccount& account() const { return account_; }

 private:
  AllocationAccount account_;
  AllocationAccount* const outer_;
};

// For engine code that works on behalf of a user function: its allocations are counted but never
// refused, because that code does not handle a refusal.
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

// The failure of a user function, for its caller to report.
struct UserFailure {
  std::string text;
  bool ours = false;  // true: a limit of ours, `text` names its key; false: the user's text
};

// Describes the exception that is being handled. Call it inside the scope that the function ran in.
UserFailure CaughtUserFailure();

// True if user code calls the operator new that counts. Another C++ module that nginx loaded
// earlier may have brought its own.
bool AllocationsAreCounted();

}  // namespace agent_graph
