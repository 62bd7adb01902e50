#include "base/allocation_account.h"

#include <malloc.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <new>

namespace agent_graph {
namespace {

constexpr int64_t kReserveBytesMin = 16 * 1024 * 1024;
// Small enough that sums cannot overflow.
constexpr uint64_t kBytesMax = std::numeric_limits<int64_t>::max() / 4;

}  // namespace

AllocationAccount::AllocationAccount(uint64_t bytes_max)
    : bytes_max_(static_cast<int64_t>(std::min(bytes_max, kBytesMax))), limit_(bytes_max_) {}

bool AllocationAccount::Refuse() {
  refused_ = true;
  limit_ = bytes_max_ + std::max(bytes_max_ / 4, kReserveBytesMin);
  return false;
}

AllocationScope::AllocationScope(uint64_t bytes_max)
    : account_(bytes_max), outer_(AllocationAccount::Current()) {
  AllocationAccount::scopes_.fetch_add(1, std::memory_order_relaxed);
  AllocationAccount::Current() = &account_;
}

AllocationScope::AllocationScope()
    : AllocationScope(AllocationAccount::Current() != nullptr
                          ? AllocationAccount::Current()->bytes_max()
                          : kBytesMax) {}

AllocationScope::~AllocationScope() {
  AllocationAccount::Current() = outer_;
  AllocationAccount::scopes_.fetch_sub(1, std::memory_order_relaxed);
  // Memory that was freed in small pieces would otherwise stay with the allocator.
  if (account_.refused()) malloc_trim(0);
  if (outer_ == nullptr) return;
  if (account_.held() >= 0) {
    outer_->Add(static_cast<size_t>(account_.held()));
  } else {
    outer_->Subtract(static_cast<size_t>(-account_.held()));
  }
}

UserFailure CaughtUserFailure() {
  const AllocationAccount* const account = AllocationAccount::Current();
  try {
    throw;
  } catch (const std::bad_alloc& error) {
    if (account == nullptr || !account->refused()) return {error.what()};
    return {"it would hold more than " + std::to_string(account->bytes_max()) +
                " bytes (limits.function_bytes_max)",
            /*ours=*/true};
  } catch (const std::exception& error) {
    return {error.what()};
  } catch (...) {
    return {"it threw something that is not a std::exception"};
  }
}

bool AllocationsAreCounted() {
  const AllocationScope scope(kBytesMax);
  // Called by name, so that the compiler cannot remove the call.
  void* const block = ::operator new(1);
  const bool counted = scope.account().held() > 0;
  ::operator delete(block);
  return counted;
}

}  // namespace agent_graph
