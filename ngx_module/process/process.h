// Hooks of nginx's process life cycle, and access to the services of this process.
#pragma once

#include "ngx_module/config.h"

namespace agent_graph::nginx {

class WorkerService;

// In the master, when a configuration takes effect. NGX_ERROR rolls the configuration back.
ngx_int_t InitModule(ngx_cycle_t* cycle) noexcept;
// In each new process: removes unlisted environment variables, and in workers starts the services.
// Always NGX_OK: a service that does not start is only logged.
ngx_int_t InitProcess(ngx_cycle_t* cycle) noexcept;
// In a worker that exits: stops the services. Blocks until they have stopped, at most
// agent_graph_exit_timeout. Ends the process with _exit if an engine thread is still running.
void ExitProcess(ngx_cycle_t* cycle) noexcept;
// In the master, after all workers have exited.
void ExitMaster(ngx_cycle_t* cycle) noexcept;

// The running service of this worker; null if there is none.
WorkerService* FindWorkerService(const ServiceConfig& config);

// Updates this worker's status rows. `loop_delay_micros`: event loop delay in microseconds; 0 keeps
// the previous value.
void ReportStatus(uint64_t loop_delay_micros);

// Returns memory to the system when a burst of requests is over.
void ReturnMemoryAfterBurst();

// Lets this worker leave when user functions have taken too many of its threads for good; the
// master starts another.
void RetireIfWornOut();

// Threads created in this scope block all signals, which nginx's thread handles, and are not bound
// to the processor that worker_cpu_affinity assigned to nginx's thread.
class EngineThreadScope {
 public:
  EngineThreadScope();
  ~EngineThreadScope();
  EngineThreadScope(const EngineThreadScope&) = delete;
  EngineThreadScope& operator=(const EngineThreadScope&) = delete;

 private:
  sigset_t signals_;
  cpu_set_t processors_;
  bool moved_ = false;
};

}  // namespace agent_graph::nginx
