#include "ngx_module/request/exchange_table.h"

namespace agent_graph::nginx {

ExchangeSlot& ExchangeTable::Acquire() {
  if (free_.empty()) {
    auto slot = std::make_unique<ExchangeSlot>();
    slot->worker = worker_;
    slot->address = {static_cast<uint32_t>(slots_.size()), 0};
    ngx_memzero(&slot->timer, sizeof(slot->timer));
    slot->timer.handler = on_timer_;
    slot->timer.data = slot.get();
    free_.reserve(slots_.size() + 1);  // so that Release never allocates
    free_.push_back(slot->address.slot);
    slots_.push_back(std::move(slot));
  }
  ExchangeSlot& slot = *slots_[free_.back()];
  free_.pop_back();
  // Generation 0 is reserved for items without an exchange.
  if (++slot.address.generation == 0) ++slot.address.generation;
  slot.timer.log = ngx_cycle->log;
  slot.ended = false;
  slot.overdue = false;
  slot.turns = 0;
  slot.messages_taken = 0;
  slot.mailbox_bytes = 0;
  return slot;
}

ExchangeSlot* ExchangeTable::Find(bridge::ExchangeAddress address) {
  if (address.slot >= slots_.size()) return nullptr;
  ExchangeSlot& slot = *slots_[address.slot];
  bool current = slot.exchange != nullptr && slot.address.generation == address.generation;
  return current ? &slot : nullptr;
}

void ExchangeTable::Release(ExchangeSlot& slot) {
  if (slot.timer.timer_set) ngx_del_timer(&slot.timer);
  slot.exchange.reset();
  slot.context = nullptr;
  free_.push_back(slot.address.slot);
}

std::vector<bridge::ExchangePtr> ExchangeTable::Exchanges() const {
  std::vector<bridge::ExchangePtr> exchanges;
  for (const auto& slot : slots_) {
    if (slot->exchange != nullptr) exchanges.push_back(slot->exchange);
  }
  return exchanges;
}

}  // namespace agent_graph::nginx
