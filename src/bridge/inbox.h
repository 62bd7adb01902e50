// Queue from the event loop to the engine, and the only place where a request can be refused
// because the worker is full.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>

#include "base/mutex.h"
#include "bridge/exchange.h"
#include "runtime/runtime.h"

namespace agent_graph::bridge {

// Limits of the exchanges of a worker.
struct InboxLimits {
  // Running exchanges; the runtime also has fibers for those that they start.
  size_t running_max = 8192;
  size_t waiting_max = 1024;  // accepted exchanges whose handler has not started
};

// Thread-safe. In practice only the worker's event loop calls it. Nothing here blocks.
class Inbox {
 public:
  using Handler = std::function<void(const ExchangePtr&)>;  // runs on its own fiber

  Inbox(runtime::Runtime& runtime, InboxLimits limits, Handler handler);

  // Queues an exchange. The handler runs on its own fiber and ends the exchange before it returns;
  // an exchange that it did not end ends as "error". Returns false if too many exchanges are
  // waiting, or after Close: the caller answers 503.
  bool Submit(ExchangePtr exchange);
  // Queues the next turn of an accepted WebSocket. The limit does not apply: there are never more
  // of these turns than sockets. Returns false after Close.
  bool Resume(ExchangePtr exchange);
  // Refuses new exchanges; those that were accepted still run.
  void Close() { closed_ = true; }

  // Exchanges that wait for their handler, and exchanges in their handler. For the status page.
  size_t waiting() const;
  size_t running() const;

 private:
  class Admission;

  void StartQueued();

  runtime::Runtime& runtime_;
  const InboxLimits limits_;
  const Handler handler_;
  std::atomic<bool> closed_{false};

  mutable Mutex mutex_;
  std::deque<ExchangePtr> queue_ AG_GUARDED_BY(mutex_);
  size_t admitted_ AG_GUARDED_BY(mutex_) = 0;    // given to the runtime and not ended
  size_t begun_ AG_GUARDED_BY(mutex_) = 0;       // the part of these that is in its handler
  bool starting_ AG_GUARDED_BY(mutex_) = false;  // a thread is in StartQueued
};

}  // namespace agent_graph::bridge
