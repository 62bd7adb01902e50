#include "admin/server_watch.h"

#include <chrono>
#include <utility>

#include "runtime/thread.h"

namespace agent_graph::admin {
namespace {

constexpr std::chrono::seconds kInterval{1};
// Consecutive checks without a state server. A server that hands over or restarts is back earlier.
constexpr int kLooks = 10;

}  // namespace

ServerWatch::ServerWatch(const state::StateDirectory& directory, std::function<void()> on_gone)
    : directory_(directory), on_gone_(std::move(on_gone)) {}

ServerWatch::~ServerWatch() {
  End();
}

Status ServerWatch::Start() {
  return runtime::StartThread(thread_, "server-watch", [this] { Watch(); });
}

bool ServerWatch::End() {
  {
    MutexLock lock(mutex_);
    ended_ = true;
  }
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
  MutexLock lock(mutex_);
  return gone_;
}

void ServerWatch::Watch() {
  int missed = 0;
  MutexLock lock(mutex_);
  for (;;) {
    const Deadline look = DeadlineAfter(kInterval);
    while (!ended_ && changed_.WaitUntil(mutex_, look)) continue;
    if (ended_) return;
    missed = directory_.IsServed() ? 0 : missed + 1;
    if (missed < kLooks) continue;
    gone_ = true;
    lock.Unlock();
    on_gone_();
    return;
  }
}

}  // namespace agent_graph::admin
