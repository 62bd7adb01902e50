#include "ngx_module/worker/stalled_sockets.h"

#include <algorithm>

#include "ngx_module/callback.h"
#include "ngx_module/worker/websocket_connection.h"
#include "ngx_module/worker/worker_service.h"

namespace agent_graph::nginx {
namespace {

// Engine threads free memory without notifying the event loop, so a timer checks.
constexpr ngx_msec_t kLookInterval = 20;
// The same limit as for a request that waits for memory.
constexpr ngx_msec_t kWaitMax = 30'000;

}  // namespace

// When messages that are all incomplete fill the memory, one of them is read on nevertheless, so
// that it can be handled and freed. It must not add to messages that wait for memory already.
bool StalledSockets::MayOneReadOn() const {
  return worker_.memory().waiting() == 0;
}

bool StalledSockets::MayReadOn(WebSocketConnection& connection) {
  if (worker_.memory().HasInputRoom()) return true;
  const bool is_favoured = &connection == favoured_;
  if (is_favoured && MayOneReadOn()) return true;
  if (Contains(connection)) return false;
  waiters_.insert(is_favoured ? waiters_.begin() : waiters_.end(), {&connection, ngx_current_msec});
  StartTimer();
  return false;
}

void StalledSockets::Remove(WebSocketConnection& connection) {
  std::erase_if(waiters_, [&](const Waiter& waiter) { return waiter.connection == &connection; });
  if (favoured_ == &connection) favoured_ = nullptr;
  if (waiters_.empty()) StopTimer();
}

bool StalledSockets::Contains(const WebSocketConnection& connection) const {
  return std::ranges::any_of(
      waiters_, [&](const Waiter& waiter) { return waiter.connection == &connection; });
}

void StalledSockets::OnTimer(ngx_event_t* event) noexcept {
  Guarded(ngx_cycle->log, [&] {
    auto* sockets = static_cast<StalledSockets*>(event->data);
    sockets->GiveUpOverdue();
    sockets->ReadOn();
    if (!sockets->waiters_.empty()) sockets->StartTimer();
  });
}

void StalledSockets::GiveUpOverdue() {
  for (;;) {
    const auto overdue = std::ranges::find_if(
        waiters_, [](const Waiter& waiter) { return ngx_current_msec - waiter.since > kWaitMax; });
    if (overdue == waiters_.end()) return;
    WebSocketConnection& connection = *overdue->connection;
    waiters_.erase(overdue);
    connection.GiveUp();
  }
}

void StalledSockets::ReadOn() {
  for (size_t turns = waiters_.size(); turns > 0 && !waiters_.empty(); --turns) {
    const bool has_room = worker_.memory().HasInputRoom();
    if (!has_room && !MayOneReadOn()) return;
    WebSocketConnection& connection = *waiters_.front().connection;
    favoured_ = &connection;
    waiters_.pop_front();
    connection.ReadOn();  // may end it
    if (!has_room) return;
  }
}

void StalledSockets::StartTimer() {
  if (timer_.timer_set) return;
  timer_.handler = OnTimer;
  timer_.data = this;
  timer_.log = ngx_cycle->log;
  timer_.cancelable = 1;
  ngx_add_timer(&timer_, kLookInterval);
}

void StalledSockets::StopTimer() {
  if (timer_.timer_set) ngx_del_timer(&timer_);
}

}  // namespace agent_graph::nginx
