// The state server in nginx's cache manager: one process beside the workers that the master
// restarts if it dies, and that runs no user code.
#include <stdlib.h>

#include <memory>
#include <vector>

#include "base/allocator.h"
#include "ngx_module/callback.h"
#include "ngx_module/config.h"
#include "ngx_module/process/process.h"
#include "ngx_module/process/spawners.h"
#include "ngx_module/status/database_row.h"
#include "ngx_module/status/duration_zone.h"
#include "ngx_module/worker/port.h"
#include "service/service.h"

namespace agent_graph::nginx {
namespace {

constexpr ngx_msec_t kManagerInterval = 10'000;
// With a database that hosts share, whose values are reported for the metrics.
constexpr ngx_msec_t kReportInterval = 2000;
// When nginx quits, the workers may be busy with their last requests for as long as those may take.
constexpr std::chrono::hours kFinishTimeoutOnQuit{1};
constexpr std::chrono::milliseconds kFinishTimeoutOnTerminate{500};

// The state server of one service, and its log lines.
struct ServiceState final : PortReceiver {
  explicit ServiceState(const ServiceConfig& service_config)
      : config(service_config), port(log, *this) {}

  void OnItem(bridge::OutboxItem& item) override {
    if (auto* line = std::get_if<bridge::WriteLog>(&item.payload)) LogItem(ngx_cycle->log, *line);
  }
  void OnBatchEnd() override {}
  void OnShutdown() override {}

  const ServiceConfig& config;
  bridge::Outbox log;
  Port port;
  std::unique_ptr<service::StateServer> role;
  DurationReporter commits{config, DurationKind::kDatabaseCommit};
};

// State servers of this process. Never freed, because nginx ends the process with exit() while
// their threads may run.
std::vector<ServiceState*>* states = nullptr;

// nginx ends the manager with exit() as soon as it quits, before the workers have finished their
// requests in flight. This function keeps serving their state until the last of them has exited.
void FinishStateServers() noexcept {
  Guarded(ngx_cycle->log, [] {
    std::chrono::milliseconds timeout = kFinishTimeoutOnTerminate;
    if (!ngx_terminate) {
      auto* core =
          reinterpret_cast<ngx_core_conf_t*>(ngx_get_conf(ngx_cycle->conf_ctx, ngx_core_module));
      timeout = kFinishTimeoutOnQuit;
      if (core->shutdown_timeout > 0) {
        timeout = std::chrono::milliseconds(core->shutdown_timeout) + kFinishTimeoutOnTerminate;
      }
    }
    Deadline deadline = DeadlineAfter(timeout);
    for (ServiceState* state : *states) {
      if (state->role != nullptr) state->role->Finish(deadline);
      state->port.DrainAll();
    }
  });
}

// Returns false if the service has no database that hosts share.
bool ReportStateOf(const ServiceConfig& config) {
  for (ServiceState* state : *states) {
    if (&state->config != &config || state->role == nullptr) continue;
    const state::DatabaseStatus* database = state->role->database();
    if (database == nullptr) continue;
    ReportDatabase(config, *database);
    state->commits.Report(database->commits);
    return true;
  }
  return false;
}

void StartServiceState(const ServiceConfig& config) {
  if (states == nullptr) {
    ForkSpawners(*config.cycle);  // this process still has only one thread
    states = new std::vector<ServiceState*>;
    if (atexit(FinishStateServers) != 0) {
      Log(ngx_cycle->log, NGX_LOG_ALERT, "atexit failed, the state server may end early");
    }
  }
  for (ServiceState* state : *states) {
    if (&state->config == &config) return;
  }
  auto* state = new ServiceState(config);
  states->push_back(state);
  if (!state->port.Open(const_cast<ngx_cycle_t*>(ngx_cycle))) return;
  EngineThreadScope scope;
  state->role = service::StateServer::Start(*config.settings, config.state_directory, &state->log);
}

}  // namespace

ngx_msec_t RunStateServer(void* service_config) noexcept {
  bool reports = false;
  Guarded(ngx_cycle->log, [&] {
    const auto& config = *static_cast<ServiceConfig*>(service_config);
    StartServiceState(config);
    reports = ReportStateOf(config);
    // This loop serves no clients.
    ReturnFreeMemory();
  });
  return reports ? kReportInterval : kManagerInterval;
}

}  // namespace agent_graph::nginx
