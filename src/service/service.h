// The composition root: builds everything a worker needs from Settings, owns it, stops it in order.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "bridge/inbox.h"
#include "bridge/outbox.h"
#include "limits/shared_rate_counters.h"
#include "live/counters.h"
#include "models/metered.h"
#include "settings/settings.h"
#include "state/client_counters.h"

namespace agent_graph::service {

struct ServiceOptions {
  std::string name;               // of agent_graph_service
  int threads = 1;                // engine threads of this worker
  size_t queue = 1024;            // inbox bound
  std::string state_directory;    // absolute; owner.sock and db/ live there
  bool state_in_process = false;  // master_process off: this process is the state owner, too
  // Tells this process from the others of its nginx that live at the same time, for ids.
  uint32_t worker = 0;
  std::string nginx;  // names the nginx this worker belongs to, from its start to its end
  // The user nginx hands the state directory to; a single process of root serves it for that user.
  uid_t state_user = static_cast<uid_t>(-1);
};

// In a worker. Thread contract: nginx thread only; the inbox and outbox do the crossing.
class Service {
 public:
  // Loads the graph and connects everything; starts no thread. The text of a failure is one line
  // that names file, key or symbol and reason.
  static Result<std::unique_ptr<Service>> Create(std::shared_ptr<const settings::Settings> settings,
                                                 ServiceOptions options);
  ~Service();

  Status Start();  // engine threads, all signals blocked
  bridge::Inbox& inbox();
  bridge::Outbox& outbox();
  const live::LiveCounters& live() const;
  const models::ModelCounters& models() const;
  // Null: nothing is kept.
  const state::ClientCounters* state() const;
  // Null: no rate limit is kept in Redis.
  const limits::SharedRateCounters* shared_rate() const;

  // Threads that user functions have taken for good: given up, and not come back since.
  size_t written_off_threads() const;

  // Has an engine thread return free memory to the system.
  void ReturnMemory();
  // Refuses new work; runs in flight go on.
  void Drain();
  // Cancels what is left, waits for fibers, joins threads. kDeadlineExceeded: somebody is stuck.
  Status Stop(Deadline deadline);

  struct Implementation;

 private:
  explicit Service(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

// What `nginx -t` asks, in a forked child without threads: the settings are complete, the graph
// loads and compiles, its models exist, every route is guarded.
Status Validate(const settings::Settings& settings);

// The state owner's role in nginx's helper process (or, as a fallback, in a worker).
class StateOwner {
 public:
  // Starts a candidate thread for `state_directory`; returns at once. Nothing for a service without
  // an embedded checkpointer or store.
  static std::unique_ptr<StateOwner> Start(const settings::Settings& settings,
                                           const std::string& state_directory, bridge::Outbox* log);
  ~StateOwner();
  // Keeps serving until the last client has gone or `deadline`; then releases the role.
  void Finish(Deadline deadline);

  struct Implementation;

 private:
  explicit StateOwner(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace agent_graph::service
