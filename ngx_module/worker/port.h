// Connects an outbox to nginx's event loop: wraps its eventfd in an nginx connection.
#pragma once

#include <vector>

#include "bridge/outbox.h"
#include "ngx_module/ngx.h"

namespace agent_graph::nginx {

// Receives the items of an outbox, on the event loop's thread. An item whose handling throws is
// lost; the port goes on with the next one soon.
class PortReceiver {
 public:
  virtual ~PortReceiver() = default;
  virtual void OnItem(bridge::OutboxItem& item) = 0;
  // Called after each batch of items, to pass the collected output to nginx.
  virtual void OnBatchEnd() = 0;
  // Called once, when a graceful shutdown (quit or reload) begins.
  virtual void OnShutdown() = 0;
};

// One per outbox and process. Used by the event loop's thread only; lives until the process ends.
class Port {
 public:
  Port(bridge::Outbox& outbox, PortReceiver& receiver) : outbox_(outbox), receiver_(receiver) {}
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Registers the doorbell. False: failed, and the reason was logged.
  bool Open(ngx_cycle_t* cycle);
  // Unregisters the doorbell. The descriptor stays open, because the outbox owns it.
  void Close();
  // Handles all queued items at once. For a process that leaves its event loop.
  void DrainAll();

 private:
  static void OnDoorbell(ngx_event_t* event) noexcept;
  void TakeBatch(ngx_event_t* event);

  bridge::Outbox& outbox_;
  PortReceiver& receiver_;
  ngx_connection_t* connection_ = nullptr;
  std::vector<bridge::OutboxItem> items_;  // taken from the outbox; handled up to next_
  size_t next_ = 0;
};

// Writes a log line of the engine to nginx's log.
void LogItem(ngx_log_t* log, const bridge::WriteLog& line);

}  // namespace agent_graph::nginx
