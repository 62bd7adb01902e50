// The executor of a host that shares the database with others.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "state/postgres/cluster/membership.h"
#include "state/postgres/housekeeping.h"
#include "state/postgres/memories/memory_changes.h"
#include "state/store/executor.h"

namespace agent_graph::state::postgres {

// A StoreExecutor with a thread that beats: it keeps this host's instance alive, delivers the
// notices of other hosts, and takes over the runs of dead ones. The thread does nothing else,
// because an instance whose beats are late is declared dead.
class HostExecutor : public StoreExecutor {
 public:
  // `membership` has joined. `memories` belong to the database, and to `options`, whose
  // `state.database_status` shows beats and takeovers.
  HostExecutor(std::unique_ptr<Database> database, StoreExecutorOptions options,
               std::unique_ptr<Membership> membership, std::shared_ptr<SharedMemoryRows> memories);
  ~HostExecutor() override;

  // Its Storage has called it already; later calls do nothing.
  Status Start() override;
  void Stop() override;
  // Also declares this host's instance dead.
  void StopForGood() override;

 private:
  // Returns false once the executor stops.
  bool Pause(Duration time);
  void KeepAlive();
  void Follow();
  // Returns false if this host is no instance any more.
  bool Beat();
  // Wakes readers of runs that other hosts have continued or ended.
  void ResumeFollowers();
  bool Take(const Membership::News& news);

  const std::shared_ptr<DatabaseStatus> status_;
  const std::unique_ptr<Membership> membership_;  // beat thread only, after Start
  const std::shared_ptr<SharedMemoryRows> shared_memories_;
  Housekeeping housekeeping_;
  std::set<std::string> taken_over_;                   // dead instances; beat thread only
  std::unordered_map<std::string, std::string> seen_;  // threads with readers; follow thread only
  Mutex mutex_;
  CondVar stop_;
  bool stopping_ AG_GUARDED_BY(mutex_) = false;

  bool started_ = false;
  std::thread beat_thread_;
  std::thread follow_thread_;
};

}  // namespace agent_graph::state::postgres
