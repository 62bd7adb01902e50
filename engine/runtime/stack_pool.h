// Stacks of fibers, each mapped with a guard page. They are kept in a free list, because mapping
// and unmapping a stack costs twice the CPU time of a short request.
#pragma once

#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <vector>

namespace agent_graph::runtime {

// The sanitizers' instrumentation needs deeper frames.
#if defined(BOOST_USE_UCONTEXT)
inline constexpr size_t kFiberStackBytes = 512 * 1024;
#else
inline constexpr size_t kFiberStackBytes = 128 * 1024;
#endif
inline constexpr size_t kFreeStacksMax = 256;
// Free stacks beyond this number return their pages to the system, except the pages that every
// fiber uses.
inline constexpr size_t kWarmStacksMax = 64;
inline constexpr size_t kTrimmedStackBytes = 8 * 1024;

// One per engine thread, used only by that thread.
class StackPool {
 public:
  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  boost::context::stack_context Acquire();  // throws std::bad_alloc
  void Release(boost::context::stack_context& stack) noexcept;

  // The allocator interface of Boost.Context; copies refer to the same pool.
  class Allocator {
   public:
    // `begin` is set to the lowest address of the stack.
    Allocator(StackPool& pool, char*& begin) : pool_(&pool), begin_(&begin) {}
    boost::context::stack_context allocate() {
      boost::context::stack_context stack = pool_->Acquire();
      *begin_ = static_cast<char*>(stack.sp) - kFiberStackBytes;
      return stack;
    }
    void deallocate(boost::context::stack_context& stack) noexcept { pool_->Release(stack); }

   private:
    StackPool* pool_;
    char** begin_;
  };

 private:
  std::vector<boost::context::stack_context> free_;
};

}  // namespace agent_graph::runtime
