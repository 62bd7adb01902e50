#include "ngx_module/process/retirement.h"

#include <signal.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "ngx_module/status/service_zone.h"
#include "ngx_module/status/status_rows.h"

namespace agent_graph::nginx {
namespace {

// Each is a thread that still holds its stack and resources and may still use a processor.
constexpr size_t kLostThreadsMax = 16;

using Services = std::vector<std::unique_ptr<WorkerService>>;

const WorkerService* FindWornOut(const Services& services) {
  const auto found = std::ranges::find_if(
      services, [](const auto& service) { return service->lost_threads() >= kLostThreadsMax; });
  return found == services.end() ? nullptr : found->get();
}

// With reuseport a worker has listening sockets of its own. The master keeps them open, so the
// kernel continues to give them connections, which wait for the successor.
bool ListensAlone() {
  const auto* sockets = static_cast<const ngx_listening_t*>(ngx_cycle->listening.elts);
  return std::any_of(sockets, sockets + ngx_cycle->listening.nelts, [](const auto& socket) {
    return socket.reuseport && socket.worker == ngx_worker;
  });
}

// Half of the workers (rounded down) must remain, and at least one. All of them ask the rows of the
// same service, because a worker leaves with all its services.
bool OthersAccept(const Services& services) {
  const auto used =
      std::ranges::find_if(services, [](const auto& service) { return service->config().used; });
  if (used == services.end() || ListensAlone()) return false;
  const ServiceConfig& service = (*used)->config();
  return LeaveToOthers(service, std::max<size_t>(WorkerCount(service) / 2, 1));
}

// True for a timer of a connection that nginx closes when it begins a graceful shutdown.
bool IsOfIdleConnection(const ngx_event_t* event) {
  for (const ngx_event_t* events : {ngx_cycle->read_events, ngx_cycle->write_events}) {
    const ngx_event_t* end = events + ngx_cycle->connection_n;
    if (std::less{}(event, events) || !std::less{}(event, end)) continue;
    return ngx_cycle->connections[event - events].idle != 0;
  }
  return false;
}

// True if nginx would exit at once in a graceful shutdown. It waits for all timers that are not
// cancelable, those of other modules' requests among them.
bool IsIdle(const Services& services) {
  if (!ngx_queue_empty(&ngx_posted_events)) return false;
  if (std::ranges::any_of(services, [](const auto& one) { return one->is_busy(); })) return false;
  ngx_rbtree_node_t* const root = ngx_event_timer_rbtree.root;
  if (root == ngx_event_timer_rbtree.sentinel) return true;
  for (auto* node = ngx_rbtree_min(root, ngx_event_timer_rbtree.sentinel); node != nullptr;
       node = ngx_rbtree_next(&ngx_event_timer_rbtree, node)) {
    const auto* event = ngx_rbtree_data(node, ngx_event_t, timer);
    if (!event->cancelable && !IsOfIdleConnection(event)) return false;
  }
  return true;
}

}  // namespace

void ConsiderRetirement(const Services& services) {
  if (ngx_process != NGX_PROCESS_WORKER || ngx_exiting) return;
  const WorkerService* const worn_out = FindWornOut(services);
  if (worn_out == nullptr) return;
  const std::string reason =
      "service \"" + worn_out->config().name + "\": " + std::to_string(worn_out->lost_threads()) +
      " user functions did not return by their deadline, so this worker exits";
  if (OthersAccept(services) || IsIdle(services)) {
    Log(ngx_cycle->log, NGX_LOG_WARN, reason);
    raise(ngx_signal_value(NGX_SHUTDOWN_SIGNAL));
    return;
  }
  static bool was_logged = false;
  if (std::exchange(was_logged, true)) return;
  Log(ngx_cycle->log, NGX_LOG_WARN,
      reason + " as soon as it has no request or enough other workers accept connections");
}

}  // namespace agent_graph::nginx
