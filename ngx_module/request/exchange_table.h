// The exchanges that a worker has in flight, addressed by slot and generation.
#pragma once

#include <memory>
#include <vector>

#include "bridge/exchange.h"
#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

struct RequestContext;
class WorkerService;

// Time for a run to send its error and end after its deadline; then its request or socket is ended
// without it.
inline constexpr ngx_msec_t kOverdueGrace = 5000;

// One exchange in flight. Its timer keeps a worker from finishing a graceful shutdown before the
// exchange has ended, and ends the exchange at the deadline of the run.
struct ExchangeSlot {
  ngx_event_t timer;  // not cancelable: a worker that shuts down waits for it
  WorkerService* worker;
  bridge::ExchangeAddress address;
  bridge::ExchangePtr exchange;       // null: free
  RequestContext* context = nullptr;  // null: the client has gone but the run continues
  bool ended = false;
  // WebSockets only: turns that have begun and not ended, messages that the engine took from the
  // mailbox, and bytes in the mailbox.
  int turns = 0;
  uint64_t messages_taken = 0;
  size_t mailbox_bytes = 0;
  bool overdue = false;  // the deadline has passed; the engine has a short time to report it
};

// Owns the slots. Used by the event loop's thread only.
class ExchangeTable {
 public:
  // `on_timer` receives the slot as the event's data.
  ExchangeTable(WorkerService* worker, ngx_event_handler_pt on_timer)
      : worker_(worker), on_timer_(on_timer) {}
  ExchangeTable(const ExchangeTable&) = delete;
  ExchangeTable& operator=(const ExchangeTable&) = delete;

  // Returns a free slot whose address is valid until Release. The caller sets `exchange`.
  ExchangeSlot& Acquire();
  // Returns null if the exchange of that address was released.
  ExchangeSlot* Find(bridge::ExchangeAddress address);
  // Frees the slot and stops its timer; its address becomes invalid.
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
