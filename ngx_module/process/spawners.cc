#include "ngx_module/process/spawners.h"

#include <fcntl.h>
#include <unistd.h>

#include "ngx_module/callback.h"
#include "ngx_module/config.h"
#include "ngx_module/process/process.h"
#include "process/spawner.h"

namespace agent_graph::nginx {
namespace {

char kKeeperTitle[] = "agent graph keeper";
char kSpawnerTitle[] = "agent graph spawner";

void ForkSpawner(const ServiceConfig& service, ngx_log_t* log) {
  Result<process::SpawnerListener> listener = process::ListenForSpawner(service.state_directory);
  if (!listener.ok()) {
    Log(log, NGX_LOG_ERR, "service \"" + service.name + "\": " + listener.status().ToString());
    return;
  }
  int lifeline[2];
  if (pipe2(lifeline, O_CLOEXEC) != 0) {
    listener->Close();
    Log(log, NGX_LOG_ERR, "service \"" + service.name + "\": cannot create a pipe for the spawner");
    return;
  }
  const pid_t child = fork();
  if (child == 0) {
    ngx_setproctitle(kKeeperTitle);
    process::KeepSpawner(*listener, lifeline[0], [] { ngx_setproctitle(kSpawnerTitle); });
  }
  listener->Close();
  close(lifeline[0]);
  // The other end of the lifeline stays open until this process exits.
  if (child > 0) return;
  close(lifeline[1]);
  Log(log, NGX_LOG_ERR, "service \"" + service.name + "\": cannot fork the spawner");
}

}  // namespace

void ForkSpawners(const ngx_cycle_t& cycle) {
  const MainConfig* main = FindMainConfig(cycle);
  if (main == nullptr) return;
  for (const auto& service : *main->services) ForkSpawner(*service, cycle.log);
}

}  // namespace agent_graph::nginx
