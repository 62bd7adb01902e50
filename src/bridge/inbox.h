// Loop → engine: the only place where a request can be refused for want of room.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

#include "bridge/exchange.h"
#include "runtime/runtime.h"

namespace agent_graph::bridge {

// Thread-safe; in practice called by the worker's loop only.
class Inbox {
 public:
  using Handler = std::function<void(const ExchangePtr&)>;  // runs on a fiber of its own

  Inbox(runtime::Runtime& runtime, size_t waiting_max, Handler handler);

  // The handler runs on a fiber of its own and ends the exchange before it returns; one that was
  // not ended then ends as "error". False when `waiting_max` exchanges already wait for a fiber, or
  // after Close: answer 503.
  bool Submit(ExchangePtr exchange);
  // Refuses everything from now on; what was accepted still runs.
  void Close() { closed_ = true; }

  size_t waiting() const { return waiting_; }
  size_t running() const { return running_; }

 private:
  runtime::Runtime& runtime_;
  const size_t waiting_max_;
  const Handler handler_;
  std::atomic<bool> closed_{false};
  std::atomic<size_t> waiting_{0};
  std::atomic<size_t> running_{0};
};

}  // namespace agent_graph::bridge
