// WebSockets that are not read in the middle of a large message, because unhandled messages and
// bodies take as much of the worker's memory as they may.
#pragma once

#include <list>

#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

class WebSocketConnection;
class WorkerService;

// One per worker service. Used by the event loop's thread only.
class StalledSockets {
 public:
  explicit StalledSockets(WorkerService& worker) : worker_(worker) {}
  ~StalledSockets() { StopTimer(); }
  StalledSockets(const StalledSockets&) = delete;
  StalledSockets& operator=(const StalledSockets&) = delete;

  // True if the socket may read more of a large message now. Otherwise it is queued: its ReadOn is
  // called when it may, or its GiveUp after half a minute.
  bool MayReadOn(WebSocketConnection& connection);
  void Remove(WebSocketConnection& connection);
  bool Contains(const WebSocketConnection& connection) const;

 private:
  struct Waiter {
    WebSocketConnection* connection;
    ngx_msec_t since;
  };

  static void OnTimer(ngx_event_t* event) noexcept;
  void GiveUpOverdue();
  void ReadOn();
  bool MayOneReadOn() const;
  void StartTimer();
  void StopTimer();

  WorkerService& worker_;
  std::list<Waiter> waiters_;  // the first one reads on first
  // The connection that read last. It stays first, so that its message is complete soon.
  const WebSocketConnection* favoured_ = nullptr;
  ngx_event_t timer_{};
};

}  // namespace agent_graph::nginx
