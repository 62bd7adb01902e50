// Client implementation of state::Service and state::Memories: a connection to the state server's
// Unix socket. Every worker has one.
//
// Each client has one thread that maintains the connection. The calling thread writes its request
// to the socket; its fiber is suspended until the reply arrives. Calls survive a change of server:
// the client resends unanswered operations to the new server, which returns the stored reply for an
// operation that was already executed. An operation fails with kUnavailable after
// `operation_timeout`. Only a Begin that the server has queued for a busy thread may take longer.
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
struct ListUnembeddedRequest;
struct ReplaceVectorsRequest;
struct UnembeddedPage;
struct VerifyReport;

struct ClientOptions {
  std::string directory;  // path of the state directory
  // also accepted as the directory's owner when this process is root
  uid_t root_serves = StateDirectory::kNobodyElse;
  std::string type_name = "leveldb";  // returned by TypeName
  std::chrono::milliseconds operation_timeout{10'000};
  // Called on the client's thread, once per outage, after `owner_wait` without a state server. A
  // worker then starts a fallback candidate (generation 0).
  std::chrono::milliseconds owner_wait{3'000};
  std::function<void()> on_owner_missing;
  // Called on the client's thread when any client has deleted a thread. Deletions that happen while
  // the connection is down are not reported.
  std::function<void(const std::string& thread_id)> on_thread_deleted;
};

// Thread-safe. Calls suspend the calling fiber; outside of a fiber they block the thread.
class Client : public Service, public Memories {
 public:
  explicit Client(ClientOptions options);
  ~Client() override;

  const ClientCounters& counters() const;

  // Starts the client's thread. The state server may start later. Call after fork.
  Status Start();
  // Disconnects; the server releases all leases of this client. Later calls fail.
  void Stop();

  Result<BeginRunReply> BeginRun(const BeginRunRequest& run,
                                 const runtime::Cancellation* cancellation) override;
  Result<AppendRunReply> AppendRun(const AppendRunRequest& append) override;
  Status FinishRun(const FinishRunRequest& finish) override;
  Result<StopReply> RequestStop(const StopRequest& stop) override;
  Result<WaitingThread> FindWaitingThread(const WaitingThreadQuery& query) override;

  Result<ThreadRecord> GetThread(const Scope& scope, const std::string& thread_id) override;
  Result<ThreadPage> ListThreads(const Scope& scope, const PageRequest& page) override;
  Status DeleteThread(const Scope& scope, const std::string& thread_id) override;
  Result<ThreadState> GetState(const Scope& scope, const std::string& thread_id) override;
  Result<ThreadState> PutState(const PutStateRequest& put) override;
  Status ClearState(const Scope& scope, const std::string& thread_id) override;

  Result<MessagePage> ListMessages(const Scope& scope, const std::string& thread_id,
                                   const PageRequest& page) override;
  Result<StoredMessage> GetMessage(const Scope& scope, const std::string& thread_id,
                                   const std::string& message_id) override;
  Status DeleteMessage(const Scope& scope, const std::string& thread_id,
                       const std::string& message_id) override;
  Status AppendMessages(const AppendMessagesRequest& append) override;
  Status RemoveMessages(const RemoveMessagesRequest& remove) override;

  Result<std::vector<LogEntry>> ReadLog(const Scope& scope, const std::string& thread_id,
                                        uint64_t first, uint64_t limit) override;
  Result<RunTraces> ReadRuns(const ReadRunsRequest& read) override;

  Status ReplaceRemoteTools(const ReplaceRemoteToolsRequest& set) override;
  Result<RemoteTools> GetRemoteTools() override;
  std::string TypeName() const override { return options_.type_name; }

  Status StoreMemory(const StoreMemoryRequest& store) override;
  Result<MemoryRecord> GetMemory(const MemoryName& name) override;
  Status UpdateMemory(const UpdateMemoryRequest& update) override;
  Status DeleteMemory(const MemoryName& name) override;
  Result<MemoryPage> ListMemories(const ListMemoriesRequest& list) override;
  Result<RemovedMemories> RemoveMemories(const RemoveMemoriesRequest& remove) override;
  Result<MemoryHits> SearchMemories(const SearchMemoriesRequest& search) override;

  // Maintenance operations for administrators. options.operation_timeout applies to them too.
  Result<VerifyReport> Verify();
  Result<BackupReport> Backup(const std::string& name);
  Result<UnembeddedPage> ListUnembedded(const ListUnembeddedRequest& list);
  // Returns the number of vectors that were stored.
  Result<uint64_t> ReplaceVectors(const ReplaceVectorsRequest& put);

  // Closes the connection as a network fault would; the client reconnects by itself.
  void DropConnectionForTest();

 private:
  const ClientOptions options_;
  std::shared_ptr<Link> link_;
};

}  // namespace agent_graph::state
