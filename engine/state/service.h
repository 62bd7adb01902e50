// state::Service: everything durable, one round trip per call.
//
// Calls suspend the calling fiber (a plain thread blocks). A mutating call that returns Ok is
// durable as the configured `sync` level promises. Common failures: kNotFound (no such row in the
// scope), kUnavailable (the owner did not answer in time), kBusy, kFenced. Implementations are
// thread-safe and held to one conformance suite.
#pragma once

#include <string>

#include "base/status.h"
#include "state/types.h"

namespace agent_graph::runtime {
class Cancellation;
}

namespace agent_graph::state {

class Service {
 public:
  virtual ~Service() = default;

  // --- runs ---
  // kPermissionDenied for a thread outside the scope. Cancellation ends the wait for a busy thread.
  virtual Result<BeginRunReply> Begin(const BeginRun& run,
                                      const runtime::Cancellation* cancellation) = 0;
  virtual Result<AppendRunReply> Append(const AppendRun& append) = 0;
  virtual Status Finish(const FinishRun& finish) = 0;
  // No live lease, or none of the run that is named: running = false and nothing is stored. A run
  // that is still queued ends with kCancelled. With `cancel` the cancellation the run's
  // Begin was given is cancelled with kStopped, in whichever process that was.
  virtual Result<StopReply> RequestStop(const StopRequest& stop) = 0;

  // kNotFound unless exactly one thread of the scope waits for the results of all these calls.
  virtual Result<WaitingThread> FindWaitingThread(const WaitingThreadQuery& query) = 0;

  // --- threads ---
  virtual Result<ThreadRecord> GetThread(const Scope& scope, const std::string& thread_id) = 0;
  virtual Result<ThreadPage> ListThreads(const Scope& scope, const PageRequest& page) = 0;
  virtual Status DeleteThread(const Scope& scope, const std::string& thread_id) = 0;
  virtual Result<ThreadState> GetState(const Scope& scope, const std::string& thread_id) = 0;
  // Returns the merged state. kPermissionDenied for a thread outside the scope.
  virtual Result<ThreadState> Put(const PutState& put) = 0;
  // Clears window, summary, custom fields and a pending interrupt; keeps record and history.
  virtual Status ClearState(const Scope& scope, const std::string& thread_id) = 0;

  // --- messages ---
  virtual Result<MessagePage> ListMessages(const Scope& scope, const std::string& thread_id,
                                           const PageRequest& page) = 0;
  virtual Result<StoredMessage> GetMessage(const Scope& scope, const std::string& thread_id,
                                           const std::string& message_id) = 0;
  virtual Status DeleteMessage(const Scope& scope, const std::string& thread_id,
                               const std::string& message_id) = 0;
  // Creates the thread when there is none. kPermissionDenied for a thread outside the scope.
  virtual Status Append(const AppendMessages& append) = 0;
  virtual Status Remove(const RemoveMessages& remove) = 0;

  // The run log of a thread, oldest first, from entry `first` on; for traces and tests.
  virtual Result<std::vector<LogEntry>> ReadLog(const Scope& scope, const std::string& thread_id,
                                                uint64_t first, uint64_t limit) = 0;
  // The ids of its latest runs and what one of them left in the log.
  virtual Result<RunTraces> Read(const ReadRuns& read) = 0;

  // --- remote tools ---
  virtual Status Set(const SetRemoteTools& set) = 0;
  virtual Result<RemoteTools> GetRemoteTools() = 0;

  // "leveldb", "memory", ...: shown by GET /v1/graph.
  virtual std::string TypeName() const = 0;
};

}  // namespace agent_graph::state
