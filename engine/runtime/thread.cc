#include "runtime/thread.h"

#include <pthread.h>
#include <signal.h>

#include <exception>
#include <utility>

#include "base/allocator.h"

namespace agent_graph::runtime {
namespace {

constexpr size_t kThreadNameMax = 15;  // limit of the kernel

// Blocks signals in a scope. A new thread inherits the mask, so it must be set before the start.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

Status StartThread(std::thread& thread, const std::string& name, std::function<void()> body) {
  const BlockSignals blocked;
  try {
    thread = std::thread([short_name = name.substr(0, kThreadNameMax), run = std::move(body)] {
      pthread_setname_np(pthread_self(), short_name.c_str());
      const ArenaHandle handle;
      run();
    });
  } catch (const std::exception& error) {
    return Status(StatusCode::kResourceExhausted, "cannot start a thread").WithDetail(error.what());
  }
  return Status::Ok();
}

}  // namespace agent_graph::runtime
