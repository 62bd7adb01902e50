#include "runtime/large_work.h"

#include <utility>

#include "base/allocation_account.h"
#include "runtime/runtime.h"

namespace agent_graph::runtime {
namespace {

constexpr size_t kRunHereBytesMax = size_t{64} * 1024;

// Lets a thread of the pool use the account of the fiber that waits for it, because the fiber gets
// and frees what the work allocates.
class UseAccount {
 public:
  explicit UseAccount(AllocationAccount* account)
      : before_(std::exchange(AllocationAccount::Current(), account)) {}
  ~UseAccount() { AllocationAccount::Current() = before_; }
  UseAccount(const UseAccount&) = delete;
  UseAccount& operator=(const UseAccount&) = delete;

 private:
  AllocationAccount* const before_;
};

}  // namespace

void RunSized(size_t bytes, const std::function<void()>& work) {
  if (bytes <= kRunHereBytesMax || !OnFiber()) return work();
  AllocationAccount* const account = AllocationAccount::Current();
  Runtime::Current()->RunOnIoPool([&] {
    const UseAccount use(account);
    work();
  });
}

}  // namespace agent_graph::runtime
