#include "runtime/stack_pool.h"

#include <sys/mman.h>

#include <boost/context/protected_fixedsize_stack.hpp>

#if defined(BOOST_USE_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace agent_graph::runtime {
namespace {

boost::context::protected_fixedsize_stack MappedStacks() {
  return boost::context::protected_fixedsize_stack(kFiberStackBytes);
}

}  // namespace

StackPool::~StackPool() {
  for (auto& stack : free_) MappedStacks().deallocate(stack);
}

boost::context::stack_context StackPool::Acquire() {
  if (free_.empty()) {
    if (free_.capacity() == 0) free_.reserve(kFreeStacksMax);  // Release must not allocate
    return MappedStacks().allocate();
  }
  auto stack = free_.back();
  free_.pop_back();
  return stack;
}

void StackPool::Release(boost::context::stack_context& stack) noexcept {
  if (free_.size() >= kFreeStacksMax) {
    MappedStacks().deallocate(stack);
    return;
  }
#if defined(BOOST_USE_ASAN)
  // The last frames of a fiber never return, so their red zones would stay poisoned.
  __asan_unpoison_memory_region(static_cast<char*>(stack.sp) - kFiberStackBytes, kFiberStackBytes);
#endif
  if (free_.size() >= kWarmStacksMax) {
    madvise(static_cast<char*>(stack.sp) - kFiberStackBytes, kFiberStackBytes - kTrimmedStackBytes,
            MADV_DONTNEED);
  }
  free_.push_back(stack);
}

}  // namespace agent_graph::runtime
