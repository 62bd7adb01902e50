// The exchanges a worker has in flight, addressed by slot and generation.
#pragma once

#include <memory>
#include <vector>

#include "bridge/exchange.h"
#include "ngx.h"

namespace agent_graph::nginx {

struct RequestContext;
class WorkerService;

// Each exchange in flight owns a timer that keeps nginx from leaving a graceful shutdown before it
// ended, and ends it when the run's time is over.
struct ExchangeSlot {
  ngx_event_t timer;  // not cancelable: a worker that is leaving waits for it
  WorkerService* worker;
  bridge::ExchangeAddress address;
  bridge::ExchangePtr exchange;       // null: free
  RequestContext* context = nullptr;  // null: the client has gone, the run goes on
  bool ended = false;
  // Of a WebSocket: turns begun and not known to be over, messages taken from the mailbox, and
  // bytes in it.
  int turns = 0;
  uint64_t messages_taken = 0;
  size_t mailbox_bytes = 0;
  bool overdue = false;  // the deadline passed; the engine has a moment to say so
};

class ExchangeTable {
 public:
  // `on_timer` gets the slot as the event's data.
  ExchangeTable(WorkerService* worker, ngx_event_handler_pt on_timer)
      : worker_(worker), on_timer_(on_timer) {}
  ExchangeTable(const ExchangeTable&) = delete;
  ExchangeTable& operator=(const ExchangeTable&) = delete;

  // A free slot whose address is valid until Release; fill in `exchange`.
  ExchangeSlot& Acquire();
  // Null for an address whose exchange has been released.
  ExchangeSlot* Find(bridge::ExchangeAddress address);
  void Release(ExchangeSlot& slot);

  template <typename Visitor>
  void ForEach(Visitor&& visit) {
    for (const auto& slot : slots_) {
      if (slot->exchange != nullptr) visit(*slot);
    }
  }

  size_t in_flight() const { return slots_.size() - free_.size(); }
  std::vector<bridge::ExchangePtr> Exchanges() const;

 private:
  WorkerService* const worker_;
  const ngx_event_handler_pt on_timer_;
  std::vector<std::unique_ptr<ExchangeSlot>> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace agent_graph::nginx
