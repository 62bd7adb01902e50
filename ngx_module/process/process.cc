#include "ngx_module/process/process.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/version.h"
#include "ngx_module/callback.h"
#include "ngx_module/environment.h"
#include "ngx_module/process/retirement.h"
#include "ngx_module/process/spawners.h"
#include "ngx_module/process/status_timer.h"
#include "ngx_module/status/service_zone.h"
#include "ngx_module/status/status_rows.h"
#include "ngx_module/worker/worker_service.h"
#include "service/file_storage.h"

namespace agent_graph::nginx {
namespace {

// The processors this nginx may use. Read in the master before each worker is bound to one of them.
cpu_set_t master_processors;
bool master_processors_known = false;

// Services of this worker. Never freed, because a thread that does not stop may still use them.
std::vector<std::unique_ptr<WorkerService>>* worker_services = nullptr;

// The number of processors per worker.
int ShareOfProcessors(ngx_cycle_t* cycle) {
  auto* core = reinterpret_cast<ngx_core_conf_t*>(ngx_get_conf(cycle->conf_ctx, ngx_core_module));
  int processors =
      master_processors_known ? CPU_COUNT(&master_processors) : static_cast<int>(ngx_ncpu);
  int workers = core->master ? std::max(1, static_cast<int>(core->worker_processes)) : 1;
  return std::max(1, processors / workers);
}

void StartServices(ngx_cycle_t* cycle, const MainConfig& main) {
  worker_services = new std::vector<std::unique_ptr<WorkerService>>;
  for (const auto& config : *main.services) {
    worker_services->push_back(std::make_unique<WorkerService>(*config));
    if (!config->used) continue;
    ClaimStatusRow(*config);
    Status started;
    {
      EngineThreadScope scope;
      started = worker_services->back()->Start(cycle, ShareOfProcessors(cycle),
                                               ngx_process == NGX_PROCESS_SINGLE);
    }
    if (started.ok()) continue;
    // The error is only logged: nginx does not restart a worker whose init fails, and this worker
    // can still serve everything else.
    Log(cycle->log, NGX_LOG_EMERG,
        "service \"" + config->name + "\" did not start: " + started.ToString());
  }
}

}  // namespace

EngineThreadScope::EngineThreadScope() {
  sigset_t blocked;
  sigfillset(&blocked);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&blocked, fault);
  pthread_sigmask(SIG_BLOCK, &blocked, &signals_);
  if (!master_processors_known) return;
  if (pthread_getaffinity_np(pthread_self(), sizeof(processors_), &processors_) != 0) return;
  moved_ =
      pthread_setaffinity_np(pthread_self(), sizeof(master_processors), &master_processors) == 0;
}

EngineThreadScope::~EngineThreadScope() {
  if (moved_) pthread_setaffinity_np(pthread_self(), sizeof(processors_), &processors_);
  pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
}

ngx_int_t InitModule(ngx_cycle_t* cycle) noexcept {
  // Done once: the master's processor set does not change at reloads.
  if (!master_processors_known) {
    master_processors_known =
        sched_getaffinity(0, sizeof(master_processors), &master_processors) == 0;
  }
  return Guarded<ngx_int_t>(cycle->log, NGX_ERROR, [&]() -> ngx_int_t {
    if (const MainConfig* main = FindMainConfig(*cycle)) {
      for (const auto& config : *main->services) ReplaceZone(cycle, config->zone);
      if (!main->services->empty() && !ngx_test_config) {
        Log(cycle->log, NGX_LOG_NOTICE, std::string("version ") + kVersion);
      }
    }
    return KeepEnvironment(cycle) ? NGX_OK : NGX_ERROR;
  });
}

ngx_int_t InitProcess(ngx_cycle_t* cycle) noexcept {
  // nginx also calls this in the cache manager and cache loader.
  DropEnvironment();
  if (const MainConfig* main = FindMainConfig(*cycle);
      main != nullptr && !main->services->empty()) {
    ReturnLargeBlocks();
  }
  if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE) return NGX_OK;
  Guarded(cycle->log, [&] {
    MainConfig* main = FindMainConfig(*cycle);
    if (main == nullptr) return;
    if (ngx_process == NGX_PROCESS_SINGLE) ForkSpawners(*cycle);
    StartServices(cycle, *main);
    if (!main->services->empty()) StartStatusTimer(cycle);
  });
  return NGX_OK;
}

void ExitProcess(ngx_cycle_t* cycle) noexcept {
  if (worker_services == nullptr) return;
  // TERM ends a worker that was leaving: its open connections are no leak. nginx 1.22 would report
  // each of them as one; later versions check this.
  if (ngx_terminate) ngx_exiting = 0;
  bool stuck = Guarded(cycle->log, true, [&] {
    bool any = false;
    Deadline deadline =
        DeadlineAfter(std::chrono::milliseconds(FindMainConfig(*cycle)->exit_timeout));
    for (const auto& service : *worker_services) {
      Status stopped = service->Stop(deadline);
      // Saves what was counted since the timer last ran, so that it outlives the worker.
      if (StatusRow* row = FindStatusRow(service->config())) service->Report(*row);
      ReleaseStatusRow(service->config());
      if (stopped.ok()) continue;
      Log(cycle->log, NGX_LOG_ERR,
          "service \"" + service->config().name + "\" did not stop: " + stopped.ToString());
      any = true;
    }
    return any;
  });
  // No destructor may run while an engine thread still runs.
  if (stuck) _exit(0);
}

// Called when all workers have exited. Deletes their data in memory that would outlive nginx.
void ExitMaster(ngx_cycle_t* cycle) noexcept {
  Guarded(cycle->log, [&] {
    const MainConfig* main = FindMainConfig(*cycle);
    if (main == nullptr) return;
    auto* core = reinterpret_cast<ngx_core_conf_t*>(ngx_get_conf(cycle->conf_ctx, ngx_core_module));
    bool hands_over = geteuid() == 0 && core->user != static_cast<ngx_uid_t>(NGX_CONF_UNSET_UINT);
    for (const auto& config : *main->services) {
      if (config->settings == nullptr) continue;
      service::ForgetFiles(*config->settings, config->state_directory,
                           hands_over ? core->user : geteuid(), ngx_pid);
    }
  });
}

void ReportStatus(uint64_t loop_delay_micros) {
  if (worker_services == nullptr) return;
  for (const auto& service : *worker_services) {
    StatusRow* row = FindStatusRow(service->config());
    if (row == nullptr) continue;
    if (loop_delay_micros > 0) row->Set(StatusGauge::kLoopDelayMicros, loop_delay_micros);
    service->Report(*row);
  }
}

void ReturnMemoryAfterBurst() {
  if (worker_services == nullptr) return;
  for (const auto& service : *worker_services) service->ReturnMemoryAfterBurst();
}

void RetireIfWornOut() {
  if (worker_services != nullptr) ConsiderRetirement(*worker_services);
}

WorkerService* FindWorkerService(const ServiceConfig& config) {
  if (worker_services == nullptr || config.index >= worker_services->size()) return nullptr;
  return (*worker_services)[config.index].get();
}

}  // namespace agent_graph::nginx
