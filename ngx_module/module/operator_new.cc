// Operators new and delete that count the memory of user functions (base/allocation_account.h). The
// module exports them, and nginx loads it with global visibility before any graph; therefore graphs
// and the C++ library bind to them.
//
// They use malloc and free, like the operators of the C++ library, so it does not matter which of
// the two allocates and which frees a block.
#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <new>

#include "base/allocation_account.h"

namespace {

using agent_graph::AllocationAccount;

// Same behaviour as the library's operators: malloc's default alignment, and a unique address for
// size 0.
struct Plain {
  void* operator()(std::size_t bytes) const { return std::malloc(bytes != 0 ? bytes : 1); }
};

struct Aligned {
  std::size_t alignment;

  void* operator()(std::size_t bytes) const {
    const std::size_t rounded = (bytes + alignment - 1) & ~(alignment - 1);
    if (rounded < bytes) return nullptr;
    return std::aligned_alloc(alignment, rounded != 0 ? rounded : alignment);
  }
};

// Null for nearly all allocations.
AllocationAccount* FindAccount() {
  return AllocationAccount::IsAnyInUse() ? AllocationAccount::Current() : nullptr;
}

template <typename Source>
[[gnu::noinline, gnu::cold]] void* AskHandler(Source source, std::size_t bytes) {
  for (;;) {
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
    if (void* const block = source(bytes)) return block;
  }
}

template <typename Source>
void* Allocate(Source source, std::size_t bytes) {
  AllocationAccount* const account = FindAccount();
  if (account != nullptr && !account->Admit(bytes)) [[unlikely]]
    throw std::bad_alloc();
  void* block = source(bytes);
  if (block == nullptr) [[unlikely]]
    block = AskHandler(source, bytes);
  if (account != nullptr) account->Add(malloc_usable_size(block));
  return block;
}

template <typename Source>
void* AllocateOrNull(Source source, std::size_t bytes) noexcept {
  try {
    return Allocate(source, bytes);
  } catch (...) {
    return nullptr;
  }
}

void Free(void* block) noexcept {
  if (AllocationAccount* const account = FindAccount()) {
    account->Subtract(malloc_usable_size(block));
  }
  std::free(block);
}

Aligned To(std::align_val_t alignment) {
  return Aligned{static_cast<std::size_t>(alignment)};
}

}  // namespace

void* operator new(std::size_t bytes) {
  return Allocate(Plain(), bytes);
}
void* operator new[](std::size_t bytes) {
  return Allocate(Plain(), bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return AllocateOrNull(Plain(), bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return AllocateOrNull(Plain(), bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return Allocate(To(alignment), bytes);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return Allocate(To(alignment), bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return AllocateOrNull(To(alignment), bytes);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t&) noexcept {
  return AllocateOrNull(To(alignment), bytes);
}

void operator delete(void* block) noexcept {
  Free(block);
}
void operator delete[](void* block) noexcept {
  Free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  Free(block);
}
void operator delete[](void* block, std::size_t) noexcept {
  Free(block);
}
void operator delete(void* block, const std::nothrow_t&) noexcept {
  Free(block);
}
void operator delete[](void* block, const std::nothrow_t&) noexcept {
  Free(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  Free(block);
}
void operator delete[](void* block, std::align_val_t) noexcept {
  Free(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  Free(block);
}
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept {
  Free(block);
}
void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  Free(block);
}
void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept {
  Free(block);
}
