// state::Backend over a Channel: checks the arguments, packs each operation, unpacks its reply.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "state/backend.h"
#include "state/calls/channel.h"
#include "state/requests.h"

namespace agent_graph::state {

// Thread-safe. Calls suspend the calling fiber; outside of a fiber they block the thread.
class Caller : public Backend {
 public:
  // `type_name` is returned by TypeName.
  Caller(std::shared_ptr<Channel> channel, std::string type_name);
  ~Caller() override;

  Status Start() override { return channel_->Start(); }
  void Stop() override { channel_->Stop(); }
  void RefuseGrants() override { channel_->RefuseGrants(); }
  const BackendCounters& counters() const override { return channel_->counters(); }
  Status Probe(const runtime::Cancellation& cancellation) override;

  Result<BeginRunReply> BeginRun(const BeginRunRequest& run,
                                 const runtime::Cancellation* cancellation) override;
  Result<AppendRunReply> AppendRun(const AppendRunRequest& append) override;
  Status FinishRun(const FinishRunRequest& finish) override;
  Result<StopReply> RequestStop(const StopRequest& stop) override;
  Result<AcceptRunReply> AcceptRun(const AcceptRunRequest& accept) override;
  Result<KeyRecord> ClaimKey(const ClaimKeyRequest& claim) override;
  Result<KeyRecord> FindKey(const FindKeyRequest& find) override;
  Status HandOverRun(const std::string& thread_id, const std::string& run_id,
                     uint64_t lease_epoch) override;
  Result<RunRecord> GetRun(const GetRunRequest& get) override;
  Result<RunPage> ListRuns(const ListRunsRequest& list) override;
  Result<FollowRunReply> FollowRun(const FollowRunRequest& follow,
                                   const runtime::Cancellation* cancellation) override;
  Result<WatchRunReply> WatchRun(const WatchRunRequest& watch,
                                 const runtime::Cancellation* cancellation) override;
  Result<PublishPieceReply> PublishPiece(const PublishPieceRequest& publish) override;
  Result<RunTotals> GetRunTotals(const runtime::Cancellation* cancellation) override;
  Result<WaitingThread> FindWaitingThread(const WaitingThreadQuery& query) override;

  Result<ThreadRecord> GetThread(const Scope& scope, const std::string& thread_id) override;
  Result<ThreadPage> ListThreads(const Scope& scope, const PageRequest& page) override;
  Status DeleteThread(const Scope& scope, const std::string& thread_id) override;
  Result<ThreadState> GetState(const Scope& scope, const std::string& thread_id) override;
  Result<GetStateUpToReply> GetStateUpTo(const GetStateUpToRequest& get) override;
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

  Status ReplaceRemoteTools(const ReplaceRemoteToolsRequest& replace) override;
  Result<RemoteTools> GetRemoteTools() override;
  std::string TypeName() const override { return type_name_; }

  Status StoreMemory(const StoreMemoryRequest& store) override;
  Result<MemoryRecord> GetMemory(const MemoryName& name) override;
  Status UpdateMemory(const UpdateMemoryRequest& update) override;
  Status DeleteMemory(const MemoryName& name) override;
  Result<MemoryPage> ListMemories(const ListMemoriesRequest& list) override;
  Result<RemovedMemories> RemoveMemories(const RemoveMemoriesRequest& remove) override;
  Result<MemoryHits> SearchMemories(const SearchMemoriesRequest& search) override;

  Result<VerifyReport> Verify() override;
  Result<BackupReport> Backup(const std::string& name) override;
  Result<UnembeddedPage> ListUnembedded(const ListUnembeddedRequest& list) override;
  Result<ReplacedVectors> ReplaceVectors(const ReplaceVectorsRequest& replace) override;

 private:
  template <typename Body>
  Result<std::string> Send(Operation operation, const Body& body,
                           const Channel::CallOptions& options = {});
  template <typename Answer, typename Body>
  Result<Answer> Ask(Operation operation, const Body& body);
  // Waits at most `wait_ms` of the request for news of a run.
  template <typename Answer, typename Body>
  Result<Answer> AwaitRun(Operation operation, const Body& body,
                          const runtime::Cancellation* cancellation);

  const std::shared_ptr<Channel> channel_;
  const std::string type_name_;
};

}  // namespace agent_graph::state
