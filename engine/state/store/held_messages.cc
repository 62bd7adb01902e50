#include "state/store/held_messages.h"

#include <utility>
#include <variant>

#include "runtime/thread.h"

namespace agent_graph::state {

HeldMessages::HeldMessages(std::function<Status()> sync,
                           std::function<void(const Status&)> on_failed)
    : sync_(std::move(sync)), on_failed_(std::move(on_failed)) {}

HeldMessages::~HeldMessages() {
  Stop();
}

Status HeldMessages::Start() {
  return runtime::StartThread(thread_, "state-sync", [this] { Run(); });
}

void HeldMessages::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void HeldMessages::Hold(std::vector<Item> items) {
  if (items.empty()) return;
  MutexLock lock(mutex_);
  for (Item& item : items) {
    if (item.is_ordered) ++ordered_[item.connection->id()];
    held_.push_back(std::move(item));
  }
  if (!delivering_) changed_.NotifyOne();
}

bool HeldMessages::MustHold(uint64_t connection) const {
  MutexLock lock(mutex_);
  return ordered_.contains(connection);
}

bool HeldMessages::holds() const {
  MutexLock lock(mutex_);
  return delivering_ || !held_.empty();
}

bool HeldMessages::failed() const {
  MutexLock lock(mutex_);
  return failed_;
}

void HeldMessages::Run() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!stopped_ && held_.empty()) changed_.Wait(mutex_);
    if (held_.empty()) return;
    std::vector<Item> items = std::exchange(held_, {});
    delivering_ = true;
    std::vector<uint64_t> ordered;
    for (const Item& item : items) {
      if (item.is_ordered) ordered.push_back(item.connection->id());
    }
    const bool had_failed = failed_;
    lock.Unlock();
    const Status synced = had_failed ? Status(StatusCode::kUnavailable, "") : sync_();
    if (!synced.ok()) {
      {
        MutexLock failing(mutex_);
        failed_ = true;
      }
      if (!had_failed) on_failed_(synced);
    }
    Deliver(std::move(items), synced);
    lock.Lock();
    delivering_ = false;
    for (const uint64_t connection : ordered) {
      const auto found = ordered_.find(connection);
      if (--found->second == 0) ordered_.erase(found);
    }
  }
}

void HeldMessages::Deliver(std::vector<Item> items, const Status& synced) {
  // All messages to one client together: one send, and one wake-up of the client.
  std::unordered_map<ClientConnection*, std::vector<ClientMessage>> messages;
  for (Item& item : items) {
    if (!synced.ok()) {
      // Other messages are about changes that may be lost.
      if (const auto* reply = std::get_if<Reply>(&item.message); reply != nullptr) {
        messages[item.connection.get()].emplace_back(RefusedWrite(reply->sequence));
      }
    } else if (!item.deliver) {
      messages[item.connection.get()].push_back(std::move(item.message));
    }
  }
  for (auto& [connection, list] : messages) connection->SendAll(std::move(list));
  for (const Item& item : items) {
    if (synced.ok() && item.deliver) item.deliver();
  }
}

}  // namespace agent_graph::state
