// Memory of a request that executes calls of tools without a run's sink.
#pragma once

#include "api/http/request_memory.h"
#include "bridge/exchange.h"
#include "run/call_memory.h"

namespace agent_graph::api {

// Counts for the exchange what calls hold, beside what it holds already. Used by its fiber and by
// others of the same thread. The exchange must outlive it.
class ExchangeMemory final : public run::CallMemory {
 public:
  explicit ExchangeMemory(bridge::Exchange& exchange)
      : exchange_(exchange), own_bytes_(exchange.held_bytes()) {}

  Status AwaitMemory(uint64_t bytes) override { return AwaitRunMemory(exchange_, bytes); }
  void HoldCalls(uint64_t bytes) override { exchange_.Hold(own_bytes_ + RunMemory(bytes, 0)); }

 private:
  bridge::Exchange& exchange_;
  const uint64_t own_bytes_;
};

}  // namespace agent_graph::api
