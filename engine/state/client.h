// state::Service and state::Memories over the owner's socket: what every worker uses.
//
// One thread per client keeps the connection. Calls are written to the socket by the calling thread
// and suspend its fiber until the answer, across any change of owner: operations that were not
// answered are sent again, and the owner answers an operation that it had already executed from
// what it kept. An operation older than `operation_timeout` fails with kUnavailable; only a
// Begin that the owner has queued for a busy thread may wait longer.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "state/client_counters.h"
#include "state/memories.h"
#include "state/owner/directory.h"
#include "state/service.h"

namespace agent_graph::state {

class Link;
struct BackupReport;
struct ListUnembedded;
struct PutVectors;
struct UnembeddedPage;
struct VerifyReport;

struct ClientOptions {
  std::string directory;                            // the state directory
  uid_t root_serves = StateDirectory::kNobodyElse;  // whose it may be when we are root
  std::string type_name = "leveldb";                // what TypeName tells
  std::chrono::milliseconds operation_timeout{10'000};
  // After this long without an owner `on_owner_missing` is called, once per outage, on the client's
  // thread: the moment for a worker to start a candidate of generation 0.
  std::chrono::milliseconds owner_wait{3'000};
  std::function<void()> on_owner_missing;
  // A thread was deleted, by whichever client; what happens while the connection is down is missed.
  // On the client's thread.
  std::function<void(const std::string& thread_id)> on_thread_deleted;
};

class Client : public Service, public Memories {
 public:
  explicit Client(ClientOptions options);
  ~Client() override;

  const ClientCounters& counters() const;

  // Starts the thread; the owner may come later. Call after fork.
  Status Start();
  // Says goodbye: the owner frees what this client still holds. Calls fail from then on.
  void Stop();

  Result<BeginRunReply> Begin(const BeginRun& run,
                              const runtime::Cancellation* cancellation) override;
  Result<AppendRunReply> Append(const AppendRun& append) override;
  Status Finish(const FinishRun& finish) override;
  Result<StopReply> RequestStop(const StopRequest& stop) override;
  Result<WaitingThread> FindWaitingThread(const WaitingThreadQuery& query) override;

  Result<ThreadRecord> GetThread(const Scope& scope, const std::string& thread_id) override;
  Result<ThreadPage> ListThreads(const Scope& scope, const PageRequest& page) override;
  Status DeleteThread(const Scope& scope, const std::string& thread_id) override;
  Result<ThreadState> GetState(const Scope& scope, const std::string& thread_id) override;
  Result<ThreadState> Put(const PutState& put) override;
  Status ClearState(const Scope& scope, const std::string& thread_id) override;

  Result<MessagePage> ListMessages(const Scope& scope, const std::string& thread_id,
                                   const PageRequest& page) override;
  Result<StoredMessage> GetMessage(const Scope& scope, const std::string& thread_id,
                                   const std::string& message_id) override;
  Status DeleteMessage(const Scope& scope, const std::string& thread_id,
                       const std::string& message_id) override;
  Status Append(const AppendMessages& append) override;
  Status Remove(const RemoveMessages& remove) override;

  Result<std::vector<LogEntry>> ReadLog(const Scope& scope, const std::string& thread_id,
                                        uint64_t first, uint64_t limit) override;
  Result<RunTraces> Read(const ReadRuns& read) override;

  Status Set(const SetRemoteTools& set) override;
  Result<RemoteTools> GetRemoteTools() override;
  std::string TypeName() const override { return options_.type_name; }

  Status Store(const StoreMemory& store) override;
  Result<MemoryRecord> GetMemory(const MemoryName& name) override;
  Status Update(const UpdateMemory& update) override;
  Status DeleteMemory(const MemoryName& name) override;
  Result<MemoryPage> List(const ListMemories& list) override;
  Result<RemovedMemories> Remove(const RemoveMemories& remove) override;
  Result<MemoryHits> Search(const SearchMemories& search) override;

  // For administrators, who are patient: options.operation_timeout bounds these, too.
  Result<VerifyReport> Verify();
  Result<BackupReport> Backup(const std::string& name);
  Result<UnembeddedPage> List(const ListUnembedded& list);
  // How many were put.
  Result<uint64_t> Put(const PutVectors& put);

  // Cuts the connection as a network fault would; the client comes back by itself.
  void DropConnectionForTest();

 private:
  const ClientOptions options_;
  std::shared_ptr<Link> link_;
};

}  // namespace agent_graph::state
