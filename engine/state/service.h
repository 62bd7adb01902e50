// state::Service: everything durable, one round trip per call.
//
// Implementations are thread-safe. Calls suspend the calling fiber (a plain thread blocks). A
// mutating call that returns Ok is durable as the configured `sync` level promises. Common errors:
// kNotFound (no such row in the scope), kUnavailable (the state server did not answer in time),
// kBusy (a run is in flight), kFenced (the run has lost its lease). All implementations must pass
// one conformance suite.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "state/requests.h"
#include "state/run_watch.h"
#include "state/runs.h"
#include "state/types.h"

namespace agent_graph::runtime {
class Cancellation;
}

namespace agent_graph::state {

// Interface of the state service.
class Service {
 public:
  virtual ~Service() = default;

  // --- runs ---

  // Takes the thread's lease and loads its state; see BeginRunRequest. Returns kPermissionDenied
  // for a thread outside the scope. `cancellation`, which may be null, ends the wait for a busy
  // thread.
  virtual Result<BeginRunReply> BeginRun(const BeginRunRequest& run,
                                         const runtime::Cancellation* cancellation) = 0;
  // Appends entries and messages to a run that holds its lease; kFenced otherwise.
  virtual Result<AppendRunReply> AppendRun(const AppendRunRequest& append) = 0;
  // Appends the last entries, stores the snapshot and releases the lease. kFenced as for AppendRun.
  virtual Status FinishRun(const FinishRunRequest& finish) = 0;
  // Asks the thread's run to stop. If the thread has no live lease, or its run is not the one
  // named, `running` is false and nothing is stored. A run that is still queued ends with
  // kCancelled. With `cancel`, the cancellation passed to the run's Begin is cancelled with
  // kStopped, in whichever process it runs.
  virtual Result<StopReply> RequestStop(const StopRequest& stop) = 0;

  // Accepts a run that a worker executes without a client; see AcceptRunRequest.
  virtual Result<AcceptRunReply> AcceptRun(const AcceptRunRequest& accept) = 0;
  // Stores a value under a key, unless the key is in use. Returns what the key has then.
  virtual Result<KeyRecord> ClaimKey(const ClaimKeyRequest& claim) = 0;
  // Returns what a key has, which may be a run that was deleted meanwhile. kNotFound: it is not in
  // use.
  virtual Result<KeyRecord> FindKey(const FindKeyRequest& find) = 0;
  // Gives an accepted run back before its end: another worker continues it as a new attempt. What
  // it has appended is kept. Also for a run that was not begun. `lease_epoch` is that of the grant:
  // without effect on another attempt; 0: not known.
  virtual Status HandOverRun(const std::string& thread_id, const std::string& run_id,
                             uint64_t lease_epoch) = 0;
  virtual Result<RunRecord> GetRun(const GetRunRequest& get) = 0;
  virtual Result<RunPage> ListRuns(const ListRunsRequest& list) = 0;
  // `cancellation`, which may be null, ends the wait for entries.
  virtual Result<FollowRunReply> FollowRun(const FollowRunRequest& follow,
                                           const runtime::Cancellation* cancellation) = 0;

  // `cancellation`, which may be null, ends the wait. See run_watch.h.
  virtual Result<WatchRunReply> WatchRun(const WatchRunRequest& watch,
                                         const runtime::Cancellation* cancellation) = 0;
  // Called by the client that executes the run.
  virtual Result<PublishPieceReply> PublishPiece(const PublishPieceRequest& publish) = 0;
  // Totals of all threads. `cancellation`, which may be null, ends the wait for the state server.
  // kInvalidArgument: a server of an older build.
  virtual Result<RunTotals> GetRunTotals(const runtime::Cancellation* cancellation) = 0;

  // Returns kNotFound unless exactly one thread of the scope waits for the results of all these
  // calls.
  virtual Result<WaitingThread> FindWaitingThread(const WaitingThreadQuery& query) = 0;

  // --- threads ---

  // Returns the thread's record.
  virtual Result<ThreadRecord> GetThread(const Scope& scope, const std::string& thread_id) = 0;
  // Returns one page of the scope's threads, newest first.
  virtual Result<ThreadPage> ListThreads(const Scope& scope, const PageRequest& page) = 0;
  // Deletes the thread with all its rows. Its run in flight is cancelled, and gets kFenced from the
  // next append on; queued runs end with kCancelled.
  virtual Status DeleteThread(const Scope& scope, const std::string& thread_id) = 0;
  // Returns record, snapshot and working window, and the run in flight if there is one.
  virtual Result<ThreadState> GetState(const Scope& scope, const std::string& thread_id) = 0;
  // The same, if it is not larger than the caller has memory for.
  virtual Result<GetStateUpToReply> GetStateUpTo(const GetStateUpToRequest& get) = 0;
  // Merges into the state and returns the result. kPermissionDenied for a thread outside the scope.
  virtual Result<ThreadState> PutState(const PutStateRequest& put) = 0;
  // Clears window, summary, custom fields and a pending interrupt; keeps the record and the
  // history.
  virtual Status ClearState(const Scope& scope, const std::string& thread_id) = 0;

  // --- messages ---

  // Returns one page of the thread's history in ascending order.
  virtual Result<MessagePage> ListMessages(const Scope& scope, const std::string& thread_id,
                                           const PageRequest& page) = 0;
  // Returns one message of the thread's history.
  virtual Result<StoredMessage> GetMessage(const Scope& scope, const std::string& thread_id,
                                           const std::string& message_id) = 0;
  // Deletes one message from history and window.
  virtual Status DeleteMessage(const Scope& scope, const std::string& thread_id,
                               const std::string& message_id) = 0;
  // Creates the thread if it does not exist. kPermissionDenied for a thread outside the scope;
  // kNotFound if the thread must exist.
  virtual Status AppendMessages(const AppendMessagesRequest& append) = 0;
  // Removes messages, all or none; kBusy if the thread has changed or runs, see
  // RemoveMessagesRequest.
  virtual Status RemoveMessages(const RemoveMessagesRequest& remove) = 0;

  // Returns up to `limit` entries of the thread's run log from number `first` on, oldest first. For
  // traces and tests.
  virtual Result<std::vector<LogEntry>> ReadLog(const Scope& scope, const std::string& thread_id,
                                                uint64_t first, uint64_t limit) = 0;
  // Returns the ids of the thread's latest runs and the log entries of one of them.
  virtual Result<RunTraces> ReadRuns(const ReadRunsRequest& read) = 0;

  // --- remote tools ---

  // Replaces remote tools; see ReplaceRemoteToolsRequest.
  virtual Status ReplaceRemoteTools(const ReplaceRemoteToolsRequest& set) = 0;
  // Returns the registered remote tools of all nodes, and their version.
  virtual Result<RemoteTools> GetRemoteTools() = 0;

  // Backend name as shown by GET /v1/graph: "leveldb", "memory", ...
  virtual std::string TypeName() const = 0;
};

}  // namespace agent_graph::state
