#include "state/store/held_messages.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "runtime/thread.h"

namespace agent_graph::state {
namespace {

size_t BytesOf(const HeldMessages::Item& item) {
  if (const auto* reply = std::get_if<Reply>(&item.message)) return reply->body.size();
  if (const auto* granted = std::get_if<GrantedRun>(&item.message)) return granted->request.size();
  return 0;
}

}  // namespace

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

void HeldMessages::ExpectWrite() {
  MutexLock lock(mutex_);
  ++expected_;
}

void HeldMessages::NoteWritten(std::vector<Item> items) {
  {
    MutexLock lock(mutex_);
    written_ = expected_;
    Add(std::move(items));
  }
  changed_.NotifyOne();
}

void HeldMessages::Hold(std::vector<Item> items) {
  if (items.empty()) return;
  {
    MutexLock lock(mutex_);
    Add(std::move(items));
  }
  changed_.NotifyOne();
}

void HeldMessages::Add(std::vector<Item> items) {
  for (Item& item : items) {
    item.write = expected_;
    bytes_ += BytesOf(item);
    if (item.is_ordered) ++ordered_[item.connection->id()];
    held_.push_back(std::move(item));
  }
}

bool HeldMessages::MustHold(uint64_t connection) const {
  MutexLock lock(mutex_);
  return ordered_.contains(connection);
}

bool HeldMessages::is_behind() const {
  MutexLock lock(mutex_);
  return expected_ != synced_;
}

bool HeldMessages::is_full() const {
  return bytes_ >= kHeldBytesMax && is_behind();
}

bool HeldMessages::failed() const {
  MutexLock lock(mutex_);
  return failed_;
}

bool HeldMessages::HasWork() const {
  const bool wants_sync = written_ != synced_ && !failed_;
  return wants_sync || (!held_.empty() && held_.front().write <= written_);
}

std::vector<HeldMessages::Item> HeldMessages::TakeItems() {
  const uint64_t written = written_;
  const auto later =
      std::ranges::find_if(held_, [&](const Item& item) { return item.write > written; });
  std::vector<Item> items(std::make_move_iterator(held_.begin()), std::make_move_iterator(later));
  held_.erase(held_.begin(), later);
  return items;
}

void HeldMessages::Forget(const std::vector<uint64_t>& ordered) {
  for (const uint64_t connection : ordered) {
    const auto found = ordered_.find(connection);
    if (--found->second == 0) ordered_.erase(found);
  }
}

void HeldMessages::Run() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!stopped_ && !HasWork()) changed_.Wait(mutex_);
    if (!HasWork()) return;
    std::vector<Item> items = TakeItems();
    std::vector<uint64_t> ordered;
    size_t bytes = 0;
    for (const Item& item : items) {
      bytes += BytesOf(item);
      if (item.is_ordered) ordered.push_back(item.connection->id());
    }
    const uint64_t written = written_;
    const bool needs_sync = written != synced_ && !failed_;
    Status synced = failed_ ? Status(StatusCode::kUnavailable, "") : Status::Ok();
    lock.Unlock();
    if (needs_sync) synced = sync_();
    lock.Lock();
    const bool fails = needs_sync && !synced.ok();
    failed_ = failed_ || fails;
    if (!failed_) synced_ = written;
    lock.Unlock();
    if (fails) on_failed_(synced);
    Deliver(std::move(items), synced);
    bytes_ -= bytes;
    lock.Lock();
    Forget(ordered);
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
      if (item.request_bytes > 0) item.connection->Executed(item.request_bytes);
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
