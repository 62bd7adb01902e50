// Accepted runs of a worker that leaves: they go on here for a while, then leave for other workers.
#pragma once

#include "ngx_module/ngx.h"
#include "service/service.h"

namespace agent_graph::nginx {

// Used by the event loop's thread only. Its timer keeps the worker from exiting meanwhile.
class LeavingRuns {
 public:
  struct Times {
    // Runs leave before their next node.
    ngx_msec_t hand_over = 0;
    // Model calls and idempotent tools are cut.
    ngx_msec_t cut = 0;
    // The worker exits, although runs may still be in progress.
    ngx_msec_t exit = 0;
    // By then the readers of other workers' runs have gone, one after the other.
    ngx_msec_t readers = 0;
  };

  LeavingRuns() = default;
  ~LeavingRuns() { Stop(); }
  LeavingRuns(const LeavingRuns&) = delete;
  LeavingRuns& operator=(const LeavingRuns&) = delete;

  // Call once, when a graceful shutdown begins. `times` count from now on.
  void Begin(service::Service& service, const Times& times, ngx_log_t* log);
  void Stop();

 private:
  static void OnTimer(ngx_event_t* event) noexcept;
  void Check();

  service::Service* service_ = nullptr;
  Times times_;
  ngx_msec_t begun_ = 0;
  ngx_event_t timer_ = {};
};

}  // namespace agent_graph::nginx
