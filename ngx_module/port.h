// Where an outbox meets nginx's event loop: an eventfd wrapped in an nginx connection.
#pragma once

#include <vector>

#include "bridge/outbox.h"
#include "ngx.h"

namespace agent_graph::nginx {

class PortReceiver {
 public:
  virtual ~PortReceiver() = default;
  virtual void OnItem(bridge::OutboxItem& item) = 0;
  // After each batch of items: the time to hand collected output to nginx.
  virtual void OnBatchEnd() = 0;
  // Once, when a graceful shutdown (quit or reload) begins.
  virtual void OnShutdown() = 0;
};

// One per outbox and process; the loop's thread only. Lives until the process ends.
class Port {
 public:
  Port(bridge::Outbox& outbox, PortReceiver& receiver) : outbox_(outbox), receiver_(receiver) {}
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Registers the doorbell. False: logged.
  bool Open(ngx_cycle_t* cycle);
  void Close();
  // Everything queued, at once: for a process that leaves its loop.
  void DrainAll();

 private:
  static void OnDoorbell(ngx_event_t* event) noexcept;
  void TakeBatch(ngx_event_t* event);

  bridge::Outbox& outbox_;
  PortReceiver& receiver_;
  ngx_connection_t* connection_ = nullptr;
  std::vector<bridge::OutboxItem> items_;  // swapped out, from next_ on not yet handled
  size_t next_ = 0;
};

// Writes an engine's log line.
void LogItem(ngx_log_t* log, const bridge::WriteLog& line);

}  // namespace agent_graph::nginx
