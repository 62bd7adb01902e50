// The operations of state::Backend as packed requests. The numbers and the packed bodies are the
// format on the state server's socket: workers of two builds may share one state server.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "state/maintenance.h"
#include "state/memories.h"
#include "state/pack/fields.h"
#include "state/requests.h"
#include "state/types.h"

namespace agent_graph::state {

enum class Operation : uint8_t {
  // Mutating operations, executed in order.
  kBeginRun = 1,
  kAppendRun = 2,
  kFinishRun = 3,
  kReleaseRun = 4,
  kRequestStop = 5,
  kPutState = 6,
  kClearState = 7,
  kDeleteThread = 8,
  kDeleteMessage = 9,
  kAppendMessages = 10,
  kRemoveMessages = 11,
  kReplaceRemoteTools = 12,
  kAcceptRun = 13,
  kHandOverRun = 14,
  kClaimKey = 15,
  kStoreMemory = 16,
  kUpdateMemory = 17,
  kDeleteMemory = 18,
  kRemoveMemories = 19,
  kReplaceVectors = 20,
  // Reads.
  kGetThread = 32,
  kListThreads = 33,
  kGetState = 34,
  kListMessages = 35,
  kGetMessage = 36,
  kReadLog = 37,
  kReadRuns = 38,
  kGetRemoteTools = 39,
  kFindWaitingThread = 40,
  kGetRun = 41,
  kListRuns = 42,
  kFollowRun = 43,
  kWatchRun = 44,
  kPublishPiece = 45,  // changes no row
  kGetRunTotals = 46,
  kGetStateUpTo = 47,
  kGetMemory = 48,
  kListMemories = 49,
  kSearchMemories = 50,
  kFindKey = 51,
  // Maintenance, for administrators.
  kVerify = 60,
  kBackup = 61,
  kListUnembedded = 62,
};

// The text of kInvalidArgument for an operation that the server does not know.
inline constexpr char kUnknownOperation[] = "unknown state operation";

inline bool IsMutating(Operation operation) {
  return operation < Operation::kGetThread;
}

// True if the executor may keep the reply until it is acknowledged. A resent BeginRun or AppendRun
// is recognised by the lease; a resent read is executed again.
inline bool IsAnswerKept(Operation operation) {
  return IsMutating(operation) && operation != Operation::kBeginRun &&
         operation != Operation::kAppendRun;
}

// True if the executor needs a row for the reply. A resent FinishRun is recognised by the record of
// its run; only executors of older builds keep its reply.
inline bool IsAnswerStored(Operation operation) {
  return IsAnswerKept(operation) && operation != Operation::kFinishRun;
}

// Arguments and results that have no struct in the interface.
struct EmptyRequest {};
template <pack::SameAs<EmptyRequest> T>
auto Fields(T&) {
  return std::tie();
}

struct ThreadRequest {
  Scope scope;
  std::string thread_id;
};
template <pack::SameAs<ThreadRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id);
}

struct MessageRequest {
  Scope scope;
  std::string thread_id;
  std::string message_id;
};
template <pack::SameAs<MessageRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.message_id);
}

struct ListThreadsRequest {
  Scope scope;
  PageRequest page;
};
template <pack::SameAs<ListThreadsRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.page);
}

struct ListMessagesRequest {
  Scope scope;
  std::string thread_id;
  PageRequest page;
};
template <pack::SameAs<ListMessagesRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.page);
}

struct ReadLogRequest {
  Scope scope;
  std::string thread_id;
  uint64_t first = 0;
  uint64_t limit = 0;
};
template <pack::SameAs<ReadLogRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.first, s.limit);
}

struct LogEntries {
  std::vector<LogEntry> entries;
};
template <pack::SameAs<LogEntries> T>
auto Fields(T& s) {
  return std::tie(s.entries);
}

// Releases a run, leased or queued, whose caller no longer waits for BeginRun.
struct ReleaseRunRequest {
  std::string thread_id;
  std::string run_id;
  uint64_t lease_epoch = 0;  // no effect on a lease of another epoch; 0: not known
};
template <pack::SameAs<ReleaseRunRequest> T>
auto Fields(T& s) {
  return std::tie(s.thread_id, s.run_id, s.lease_epoch);
}

// Gives an accepted run back for another client.
struct HandOverRunRequest {
  std::string thread_id;
  std::string run_id;
  uint64_t lease_epoch = 0;  // as in ReleaseRunRequest
};
template <pack::SameAs<HandOverRunRequest> T>
auto Fields(T& s) {
  return std::tie(s.thread_id, s.run_id, s.lease_epoch);
}

// Copies the stored state to a backup of this name; see IsBackupName.
struct BackupRequest {
  std::string name;
};
template <pack::SameAs<BackupRequest> T>
auto Fields(T& s) {
  return std::tie(s.name);
}

}  // namespace agent_graph::state
