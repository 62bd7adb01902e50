// Loop → engine: the only place where a request can be refused for want of room.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

#include "bridge/exchange.h"
#include "runtime/runtime.h"

namespace agent_graph::bridge {

struct InboxLimits {
  size_t running_max = 8192;  // exchanges at work; the runtime has fibers for what these start, too
  size_t waiting_max = 1024;  // accepted ones whose handler has not begun
};

// Thread-safe; in practice called by the worker's loop only.
class Inbox {
 public:
  using Handler = std::function<void(const ExchangePtr&)>;  // runs on a fiber of its own

  Inbox(runtime::Runtime& runtime, InboxLimits limits, Handler handler);

  // The handler runs on a fiber of its own and ends the exchange before it returns; one that was
  // not ended then ends as "error". False when too many exchanges already wait, or after Close:
  // answer 503.
  bool Submit(ExchangePtr exchange);
  // The next turn of an accepted WebSocket, which is never refused for want of room: there are not
  // more of them than sockets. False after Close.
  bool Resume(ExchangePtr exchange);
  // Refuses everything from now on; what was accepted still runs.
  void Close() { closed_ = true; }

  size_t waiting() const;
  size_t running() const;

 private:
  class Admission;

  void StartQueued();

  runtime::Runtime& runtime_;
  const InboxLimits limits_;
  const Handler handler_;
  std::atomic<bool> closed_{false};

  mutable std::mutex mutex_;
  std::deque<ExchangePtr> queue_;  // guarded by mutex_, like the rest
  size_t admitted_ = 0;            // given to the runtime and not ended
  size_t begun_ = 0;               // of these, in their handler
  bool starting_ = false;          // somebody is in StartQueued
};

}  // namespace agent_graph::bridge
