// The executor of a host that shares the database with others.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "state/follow/remote_readers.h"
#include "state/follow/run_watches.h"
#include "state/postgres/cluster/host_link.h"
#include "state/postgres/cluster/membership.h"
#include "state/postgres/host_messages.h"
#include "state/postgres/housekeeping.h"
#include "state/postgres/memories/memory_changes.h"
#include "state/store/executor.h"

namespace agent_graph::state::postgres {

// A StoreExecutor with a thread that beats: it keeps this host's instance alive, delivers the
// notices of other hosts, and takes over the runs of dead ones. The thread does nothing else,
// because an instance whose beats are late is declared dead.
//
// Clients also read runs of other hosts. A second thread looks at the leases of their threads every
// 250 ms, which is all that is certain. Where the host that executes the run can be reached over
// the link, it reports changes and pieces of messages at once (host_executor_links.cc).
class HostExecutor : public StoreExecutor {
 public:
  // `membership` has joined. `memories` belong to the database, and to `options`, whose
  // `state.database_status` shows beats and takeovers.
  HostExecutor(std::unique_ptr<Database> database, const StoreExecutorOptions& options,
               std::unique_ptr<Membership> membership, std::shared_ptr<SharedMemoryRows> memories);
  ~HostExecutor() override;

  // PostgresStorage has already called it; later calls do nothing.
  Status Start() override;
  void Stop() override;
  // Also declares this host's instance dead.
  void StopForGood() override;

 private:
  enum class Until : uint8_t { kTime, kTimeOrWatch };
  // Returns false once the executor stops. kTimeOrWatch: ends early if a client watches a new run.
  bool Pause(Duration time, Until until = Until::kTime);
  void KeepAlive();
  void Follow();
  // Returns the pause before the next beat; nullopt: this host is no instance any more.
  std::optional<Duration> Beat();
  // Wakes readers of runs that other hosts have continued or ended.
  void ResumeFollowers();

  // Links (host_executor_links.cc).
  struct Asked {
    std::string instance;
    Deadline again;
  };
  void OnRunsChanged(const std::vector<std::string>& thread_ids) override;
  void OnPiece(const PublishPieceRequest& piece) override;
  void OnWatched() override;
  // Asks the hosts that execute runs of these threads to report; follow thread only.
  void AskHosts(const std::vector<RunWatches::Known>& watched,
                const std::vector<std::string>& threads,
                const std::vector<Database::LeaseState>& leases);
  void Ask(const std::string& instance, const RunWatches::Known& run);
  // Receives on the link's thread.
  void Receive(const std::vector<std::string>& messages);
  void Report(const std::string& reader, const ReadersMessage& readers);
  void TakePieceOf(const std::string& sender, const PublishPieceRequest& piece);
  void SendPiece(const std::vector<std::string>& instances, const PublishPieceRequest& piece);
  void Send(const std::string& instance, HostMessage message);
  bool Take(const Membership::News& news);

  const std::shared_ptr<DatabaseStatus> status_;
  const std::unique_ptr<Membership> membership_;  // beat thread only, after Start
  const std::shared_ptr<SharedMemoryRows> shared_memories_;
  Housekeeping housekeeping_;
  std::set<std::string> taken_over_;                   // dead instances; beat thread only
  std::unordered_map<std::string, std::string> seen_;  // threads with readers; follow thread only
  std::map<RunWatches::Key, Asked> asked_;             // follow thread only
  std::map<RunWatches::Key, Deadline> gaps_;           // filled until then; link thread only
  RemoteReaders remote_readers_;
  HostLink link_;
  Mutex mutex_;
  CondVar stop_;
  bool stopping_ AG_GUARDED_BY(mutex_) = false;
  bool has_new_watch_ AG_GUARDED_BY(mutex_) = false;

  bool started_ = false;
  std::thread beat_thread_;
  std::thread follow_thread_;
};

}  // namespace agent_graph::state::postgres
