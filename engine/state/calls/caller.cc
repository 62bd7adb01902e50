#include "state/calls/caller.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "state/pack/fields.h"
#include "state/requests.h"
#include "state/rules/ids.h"

namespace agent_graph::state {
namespace {

template <typename Answer>
Result<Answer> Unpacked(Result<std::string> body) {
  if (!body.ok()) return body.status();
  Answer answer;
  if (!pack::FromBytes(*body, answer)) {
    return Status(StatusCode::kInternal, "the state server sent a malformed answer");
  }
  return answer;
}

Status CheckMessageIds(const std::string& thread_id, const std::vector<StoredMessage>& messages) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  for (const StoredMessage& message : messages) {
    AG_RETURN_IF_ERROR(CheckId(message.id, "message_id"));
  }
  return Status::Ok();
}

Status CheckKey(const std::string& user, const std::string& key) {
  if (key.empty() || key.size() > kRunKeyBytesMax) return InvalidArgument("not a usable key");
  return CheckUser(user);
}

}  // namespace

template <typename Body>
Result<std::string> Caller::Send(Operation operation, const Body& body,
                                 const Channel::CallOptions& options) {
  std::string request = channel_->BeginRequest(operation, UnixMicros());
  pack::Packer packer(request);
  pack::Pack(packer, body);
  Result<std::string> reply = channel_->Call(std::move(request), options);
  // During a binary upgrade, a server of an older build serves until it has handed over.
  if (!reply.ok() && reply.status().message() == kUnknownOperation) {
    return Unavailable("the state server is being replaced");
  }
  return reply;
}

template <typename Answer, typename Body>
Result<Answer> Caller::Ask(Operation operation, const Body& body) {
  return Unpacked<Answer>(Send(operation, body));
}

Caller::Caller(std::shared_ptr<Channel> channel, std::string type_name)
    : channel_(std::move(channel)), type_name_(std::move(type_name)) {}

Caller::~Caller() {
  channel_->Stop();
}

Result<BeginRunReply> Caller::BeginRun(const BeginRunRequest& run,
                                       const runtime::Cancellation* cancellation) {
  AG_RETURN_IF_ERROR(CheckId(run.thread_id, "thread_id"));
  AG_RETURN_IF_ERROR(CheckId(run.run_id, "run_id"));
  AG_RETURN_IF_ERROR(CheckUser(run.user_id));
  AG_RETURN_IF_ERROR(channel_->Hold(run.thread_id, run.run_id, run.granted_epoch, cancellation));
  bool taken = false;
  Channel::CallOptions options;
  options.cancellation = cancellation;
  options.queued_wait = std::chrono::milliseconds(std::max<int64_t>(run.wait_ms_max, 0));
  options.taken = &taken;
  Result<BeginRunReply> reply = Unpacked<BeginRunReply>(Send(Operation::kBeginRun, run, options));
  if (reply.ok()) return reply;
  if (!taken) {
    channel_->Unhold(run.thread_id, run.run_id);
    return reply;
  }
  switch (reply.status().code()) {
    case StatusCode::kBusy:
    case StatusCode::kConflict:
    case StatusCode::kPermissionDenied:
      channel_->Unhold(run.thread_id, run.run_id);
      break;
    case StatusCode::kDataLoss:
      // Given back, it would be granted again, and could not be read again. The caller ends it.
      if (run.granted) break;
      [[fallthrough]];
    default:
      // The executor may already have granted the lease, or may still grant it. It can also fail to
      // read the thread after the grant.
      channel_->Release(run.thread_id, run.run_id, run.granted_epoch);
  }
  return reply;
}

Result<AppendRunReply> Caller::AppendRun(const AppendRunRequest& append) {
  AG_RETURN_IF_ERROR(CheckMessageIds(append.thread_id, append.messages));
  Result<std::string> body = Send(Operation::kAppendRun, append);
  if (body.status().code() == StatusCode::kFenced) {
    channel_->UnholdAttempt(append.thread_id, append.run_id, append.lease_epoch);
  }
  return Unpacked<AppendRunReply>(std::move(body));
}

Status Caller::FinishRun(const FinishRunRequest& finish) {
  const AppendRunRequest& append = finish.append;
  Status status = CheckMessageIds(append.thread_id, append.messages);
  if (status.ok()) status = Send(Operation::kFinishRun, finish).status();
  if (status.ok() || status.code() == StatusCode::kFenced) {
    channel_->UnholdAttempt(append.thread_id, append.run_id, append.lease_epoch);
  } else {
    // The caller will not use the run again in any case, so the thread must not stay locked.
    channel_->Release(append.thread_id, append.run_id, append.lease_epoch);
  }
  return status;
}

Result<StopReply> Caller::RequestStop(const StopRequest& stop) {
  AG_RETURN_IF_ERROR(CheckId(stop.thread_id, "thread_id"));
  return Ask<StopReply>(Operation::kRequestStop, stop);
}

Result<AcceptRunReply> Caller::AcceptRun(const AcceptRunRequest& accept) {
  AG_RETURN_IF_ERROR(CheckId(accept.begin.thread_id, "thread_id"));
  AG_RETURN_IF_ERROR(CheckId(accept.begin.run_id, "run_id"));
  AG_RETURN_IF_ERROR(CheckUser(accept.begin.user_id));
  return Ask<AcceptRunReply>(Operation::kAcceptRun, accept);
}

Result<KeyRecord> Caller::ClaimKey(const ClaimKeyRequest& claim) {
  AG_RETURN_IF_ERROR(CheckKey(claim.user, claim.key.key));
  if (claim.value.size() > kKeyValueBytesMax) return InvalidArgument("the value is too long");
  return Ask<KeyRecord>(Operation::kClaimKey, claim);
}

Result<KeyRecord> Caller::FindKey(const FindKeyRequest& find) {
  AG_RETURN_IF_ERROR(CheckKey(find.user, find.key));
  return Ask<KeyRecord>(Operation::kFindKey, find);
}

Status Caller::HandOverRun(const std::string& thread_id, const std::string& run_id,
                           uint64_t lease_epoch) {
  const Status status =
      Send(Operation::kHandOverRun, HandOverRunRequest{thread_id, run_id, lease_epoch}).status();
  // After an error the executor may still count the lease as ours. It releases the lease when our
  // connection no longer names the run.
  channel_->UnholdAttempt(thread_id, run_id, lease_epoch);
  return status;
}

Result<RunRecord> Caller::GetRun(const GetRunRequest& get) {
  AG_RETURN_IF_ERROR(CheckId(get.thread_id, "thread_id"));
  AG_RETURN_IF_ERROR(CheckId(get.run_id, "run_id"));
  return Ask<RunRecord>(Operation::kGetRun, get);
}

Result<RunPage> Caller::ListRuns(const ListRunsRequest& list) {
  AG_RETURN_IF_ERROR(CheckId(list.thread_id, "thread_id"));
  return Ask<RunPage>(Operation::kListRuns, list);
}

template <typename Answer, typename Body>
Result<Answer> Caller::AwaitRun(Operation operation, const Body& body,
                                const runtime::Cancellation* cancellation) {
  AG_RETURN_IF_ERROR(CheckId(body.thread_id, "thread_id"));
  AG_RETURN_IF_ERROR(CheckId(body.run_id, "run_id"));
  Channel::CallOptions options;
  options.cancellation = cancellation;
  options.queued_wait =
      std::chrono::milliseconds(std::clamp<int64_t>(body.wait_ms, 0, kFollowWaitMsMax));
  return Unpacked<Answer>(Send(operation, body, options));
}

Result<FollowRunReply> Caller::FollowRun(const FollowRunRequest& follow,
                                         const runtime::Cancellation* cancellation) {
  return AwaitRun<FollowRunReply>(Operation::kFollowRun, follow, cancellation);
}

Result<WatchRunReply> Caller::WatchRun(const WatchRunRequest& watch,
                                       const runtime::Cancellation* cancellation) {
  return AwaitRun<WatchRunReply>(Operation::kWatchRun, watch, cancellation);
}

Result<PublishPieceReply> Caller::PublishPiece(const PublishPieceRequest& publish) {
  return Ask<PublishPieceReply>(Operation::kPublishPiece, publish);
}

Result<RunTotals> Caller::GetRunTotals(const runtime::Cancellation* cancellation) {
  Channel::CallOptions options;
  options.cancellation = cancellation;
  return Unpacked<RunTotals>(Send(Operation::kGetRunTotals, EmptyRequest{}, options));
}

Result<WaitingThread> Caller::FindWaitingThread(const WaitingThreadQuery& query) {
  return Ask<WaitingThread>(Operation::kFindWaitingThread, query);
}

Status Caller::Probe(const runtime::Cancellation& cancellation) {
  const Status read = Send(Operation::kGetThread, ThreadRequest{Scope::All(), "probe"},
                           {.cancellation = &cancellation})
                          .status();
  return read.code() == StatusCode::kNotFound ? Status::Ok() : read;
}

Result<ThreadRecord> Caller::GetThread(const Scope& scope, const std::string& thread_id) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  return Ask<ThreadRecord>(Operation::kGetThread, ThreadRequest{scope, thread_id});
}

Result<ThreadPage> Caller::ListThreads(const Scope& scope, const PageRequest& page) {
  return Ask<ThreadPage>(Operation::kListThreads, ListThreadsRequest{scope, page});
}

Status Caller::DeleteThread(const Scope& scope, const std::string& thread_id) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  return Send(Operation::kDeleteThread, ThreadRequest{scope, thread_id}).status();
}

Result<ThreadState> Caller::GetState(const Scope& scope, const std::string& thread_id) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  return Ask<ThreadState>(Operation::kGetState, ThreadRequest{scope, thread_id});
}

Result<GetStateUpToReply> Caller::GetStateUpTo(const GetStateUpToRequest& get) {
  AG_RETURN_IF_ERROR(CheckId(get.thread_id, "thread_id"));
  return Ask<GetStateUpToReply>(Operation::kGetStateUpTo, get);
}

Result<ThreadState> Caller::PutState(const PutStateRequest& put) {
  AG_RETURN_IF_ERROR(CheckMessageIds(put.thread_id, put.messages));
  AG_RETURN_IF_ERROR(CheckUser(put.user_id));
  return Ask<ThreadState>(Operation::kPutState, put);
}

Status Caller::ClearState(const Scope& scope, const std::string& thread_id) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  return Send(Operation::kClearState, ThreadRequest{scope, thread_id}).status();
}

Result<MessagePage> Caller::ListMessages(const Scope& scope, const std::string& thread_id,
                                         const PageRequest& page) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  return Ask<MessagePage>(Operation::kListMessages, ListMessagesRequest{scope, thread_id, page});
}

Result<StoredMessage> Caller::GetMessage(const Scope& scope, const std::string& thread_id,
                                         const std::string& message_id) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  AG_RETURN_IF_ERROR(CheckId(message_id, "message_id"));
  return Ask<StoredMessage>(Operation::kGetMessage, MessageRequest{scope, thread_id, message_id});
}

Status Caller::DeleteMessage(const Scope& scope, const std::string& thread_id,
                             const std::string& message_id) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  AG_RETURN_IF_ERROR(CheckId(message_id, "message_id"));
  return Send(Operation::kDeleteMessage, MessageRequest{scope, thread_id, message_id}).status();
}

Status Caller::AppendMessages(const AppendMessagesRequest& append) {
  AG_RETURN_IF_ERROR(CheckMessageIds(append.thread_id, append.messages));
  AG_RETURN_IF_ERROR(CheckUser(append.user_id));
  return Send(Operation::kAppendMessages, append).status();
}

Status Caller::RemoveMessages(const RemoveMessagesRequest& remove) {
  AG_RETURN_IF_ERROR(CheckId(remove.thread_id, "thread_id"));
  return Send(Operation::kRemoveMessages, remove).status();
}

Result<std::vector<LogEntry>> Caller::ReadLog(const Scope& scope, const std::string& thread_id,
                                              uint64_t first, uint64_t limit) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  AG_ASSIGN_OR_RETURN(
      LogEntries log,
      Ask<LogEntries>(Operation::kReadLog, ReadLogRequest{scope, thread_id, first, limit}));
  return std::move(log.entries);
}

Result<RunTraces> Caller::ReadRuns(const ReadRunsRequest& read) {
  AG_RETURN_IF_ERROR(CheckId(read.thread_id, "thread_id"));
  return Ask<RunTraces>(Operation::kReadRuns, read);
}

Status Caller::ReplaceRemoteTools(const ReplaceRemoteToolsRequest& replace) {
  return Send(Operation::kReplaceRemoteTools, replace).status();
}

Result<RemoteTools> Caller::GetRemoteTools() {
  return Ask<RemoteTools>(Operation::kGetRemoteTools, EmptyRequest{});
}

Status Caller::StoreMemory(const StoreMemoryRequest& store) {
  AG_RETURN_IF_ERROR(CheckId(store.record.id, "memory_id"));
  AG_RETURN_IF_ERROR(CheckUser(store.record.owner));
  return Send(Operation::kStoreMemory, store).status();
}

Result<MemoryRecord> Caller::GetMemory(const MemoryName& name) {
  AG_RETURN_IF_ERROR(CheckId(name.id, "memory_id"));
  return Ask<MemoryRecord>(Operation::kGetMemory, name);
}

Status Caller::UpdateMemory(const UpdateMemoryRequest& update) {
  AG_RETURN_IF_ERROR(CheckId(update.name.id, "memory_id"));
  return Send(Operation::kUpdateMemory, update).status();
}

Status Caller::DeleteMemory(const MemoryName& name) {
  AG_RETURN_IF_ERROR(CheckId(name.id, "memory_id"));
  return Send(Operation::kDeleteMemory, name).status();
}

Result<MemoryPage> Caller::ListMemories(const ListMemoriesRequest& list) {
  return Ask<MemoryPage>(Operation::kListMemories, list);
}

Result<RemovedMemories> Caller::RemoveMemories(const RemoveMemoriesRequest& remove) {
  return Ask<RemovedMemories>(Operation::kRemoveMemories, remove);
}

Result<MemoryHits> Caller::SearchMemories(const SearchMemoriesRequest& search) {
  return Ask<MemoryHits>(Operation::kSearchMemories, search);
}

Result<VerifyReport> Caller::Verify() {
  return Ask<VerifyReport>(Operation::kVerify, EmptyRequest{});
}

Result<BackupReport> Caller::Backup(const std::string& name) {
  return Ask<BackupReport>(Operation::kBackup, BackupRequest{name});
}

Result<UnembeddedPage> Caller::ListUnembedded(const ListUnembeddedRequest& list) {
  return Ask<UnembeddedPage>(Operation::kListUnembedded, list);
}

Result<ReplacedVectors> Caller::ReplaceVectors(const ReplaceVectorsRequest& replace) {
  return Ask<ReplacedVectors>(Operation::kReplaceVectors, replace);
}

}  // namespace agent_graph::state
