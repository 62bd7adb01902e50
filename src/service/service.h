// The composition root of a worker: builds everything that it needs from Settings, owns it, and
// stops it in order.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/named_durations.h"
#include "base/status.h"
#include "bridge/inbox.h"
#include "bridge/outbox.h"
#include "limits/shared_rate_counters.h"
#include "live/counters.h"
#include "models/metered.h"
#include "service/readiness.h"
#include "service/run_totals.h"
#include "settings/settings.h"
#include "state/backend.h"
#include "state/database_status.h"

namespace agent_graph::service {

// Options that come from nginx and its configuration.
struct ServiceOptions {
  std::string name;               // argument of agent_graph_service
  int threads = 1;                // engine threads of this worker
  size_t queue = 1024;            // maximum of exchanges that wait in the inbox
  std::string state_directory;    // absolute; contains owner.sock and db/
  bool state_in_process = false;  // master_process off: this process is also the state server
  // Distinguishes this process from the others of its nginx that run at the same time. Part of the
  // ids that it creates.
  uint32_t worker = 0;
  // Identifies the nginx instance that this worker belongs to, for the lifetime of that nginx.
  std::string nginx;
  // Memory of a limits::TokenTable that the workers share; null: this process has one of its own.
  void* token_table = nullptr;
  // nginx gives the state directory to this user. If nginx is a single process of root, that
  // process serves the state for the user.
  uid_t state_user = static_cast<uid_t>(-1);
};

// The service in a worker. Call it on the nginx thread only; inbox and outbox carry the data to the
// engine threads and back. Stop may block until its deadline.
class Service {
 public:
  // Loads the graph and connects everything; starts no thread. The text of a failure is one line
  // that names the file, key or symbol and the reason.
  static Result<std::unique_ptr<Service>> Create(std::shared_ptr<const settings::Settings> settings,
                                                 ServiceOptions options);
  ~Service();

  Status Start();  // starts the engine threads, with all signals blocked
  // Queues to and from the engine, and counters for the status page. Valid until destruction.
  bridge::Inbox& inbox();
  bridge::Outbox& outbox();
  const live::LiveCounters& live() const;
  const models::ModelCounters& models() const;
  // Null if no state is kept.
  const state::BackendCounters* state() const;
  // The calls of tools, by their names.
  const NamedDurations& tools() const;
  const Readiness& readiness() const;
  // Totals of accepted runs.
  const RunTotalsWatch& run_totals() const;
  uint64_t unknown_effects() const;  // see RunServices
  size_t followers() const;          // requests of this worker that follow a run
  // Null if no rate limit is counted in Redis.
  const limits::SharedRateCounters* shared_rate() const;

  // Number of threads lost to user functions, which have not returned by their deadline.
  size_t lost_threads() const;

  // Makes an engine thread return free memory to the system.
  void ReturnMemory();
  // For a worker that leaves; in this order. The worker gets no further accepted runs, and readers
  // of other workers' runs end, each at a random time within `readers_go_within`.
  void LeaveRuns(std::chrono::milliseconds readers_go_within);
  // Accepted runs leave before their next node: other workers continue them.
  void HandOverRuns();
  // The same, and cancels model calls and calls of idempotent tools that are in progress.
  void CutRuns();
  // Number of accepted runs that have not ended or left.
  size_t accepted_runs() const;
  // Refuses new work; runs in flight go on.
  void Drain();
  // Drains, waits for the fibers of all runs and joins the threads. It cancels no run: the caller
  // has cancelled the exchanges that are left. kDeadlineExceeded: a fiber or a thread has not
  // ended; the process must then exit without destroying the service.
  Status Stop(Deadline deadline);

  struct Implementation;

 private:
  explicit Service(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

// The state server's role in nginx's helper process or, as a fallback, in a worker.
class StateServer {
 public:
  // Starts a candidate thread for `state_directory` and returns at once. Null for a service without
  // an embedded checkpointer or store.
  static std::unique_ptr<StateServer> Start(const settings::Settings& settings,
                                            const std::string& state_directory,
                                            bridge::Outbox* log);
  ~StateServer();
  // Kept up to date while this object lives; null if the state is not in a database that hosts
  // share.
  const state::DatabaseStatus* database() const;
  // Serves until the last client has disconnected or until `deadline`, then releases the role.
  // Blocks meanwhile.
  void Finish(Deadline deadline);

  struct Implementation;

 private:
  explicit StateServer(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace agent_graph::service
