#include "state/client.h"

#include <algorithm>
#include <utility>

#include "runtime/cancellation.h"
#include "state/client/link.h"
#include "state/leveldb/maintenance.h"
#include "state/limits.h"
#include "state/reembedding.h"
#include "state/wire/protocol.h"

namespace agent_graph::state {
namespace {

using wire::Operation;

Status CheckId(const std::string& id, const char* what) {
  if (!id.empty() && id.size() <= kIdBytesMax) return Status::Ok();
  return Status(StatusCode::kInvalidArgument,
                std::string(what) + " must have 1 to " + std::to_string(kIdBytesMax) + " bytes");
}

Status CheckUser(const std::string& user_id) {
  return user_id.empty() ? Status::Ok() : CheckId(user_id, "user_id");
}

Status CheckIds(const std::string& thread_id, const std::vector<StoredMessage>& messages) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  for (const StoredMessage& message : messages) {
    AG_RETURN_IF_ERROR(CheckId(message.id, "message_id"));
  }
  return Status::Ok();
}

template <typename Body>
std::string Request(Operation operation, const Body& body) {
  return wire::MakeRequest(operation, UnixMicros(), body);
}

template <typename Reply>
Result<Reply> Decode(Result<std::string> body) {
  if (!body.ok()) return body.status();
  Reply reply;
  if (!pack::FromBytes(*body, reply)) {
    return Status(StatusCode::kInternal, "the state owner sent a malformed answer");
  }
  return reply;
}

}  // namespace

Client::Client(ClientOptions options)
    : options_(std::move(options)),
      link_(std::make_shared<Link>(LinkOptions{
          options_.directory, options_.root_serves, options_.operation_timeout, options_.owner_wait,
          options_.on_owner_missing, options_.on_thread_deleted})) {}

Client::~Client() = default;

const ClientCounters& Client::counters() const {
  return link_->counters();
}

Status Client::Start() {
  return link_->Start();
}
void Client::Stop() {
  link_->Stop();
}
void Client::DropConnectionForTest() {
  link_->DropConnection();
}

Result<BeginRunReply> Client::BeginRun(const BeginRunRequest& run,
                                       const runtime::Cancellation* cancellation) {
  AG_RETURN_IF_ERROR(CheckId(run.thread_id, "thread_id"));
  AG_RETURN_IF_ERROR(CheckId(run.run_id, "run_id"));
  AG_RETURN_IF_ERROR(CheckUser(run.user_id));
  AG_RETURN_IF_ERROR(link_->Hold(run.thread_id, run.run_id, cancellation));
  const auto busy_wait = std::chrono::milliseconds(std::max<int64_t>(run.wait_ms_max, 0));
  bool taken = false;
  Result<std::string> body =
      link_->Call(Request(Operation::kBeginRun, run), cancellation, busy_wait, &taken);
  Result<BeginRunReply> reply = Decode<BeginRunReply>(std::move(body));
  if (reply.ok()) return reply;
  if (!taken) {
    link_->Unhold(run.thread_id, run.run_id);
    return reply;
  }
  switch (reply.status().code()) {
    case StatusCode::kBusy:
    case StatusCode::kConflict:
    case StatusCode::kPermissionDenied:
      link_->Unhold(run.thread_id, run.run_id);
      break;
    default:
      // The state server may already have granted the lease, or may still grant it. It can also
      // fail to read the thread after the grant.
      link_->Release(run.thread_id, run.run_id);
  }
  return reply;
}

Result<AppendRunReply> Client::AppendRun(const AppendRunRequest& append) {
  AG_RETURN_IF_ERROR(CheckIds(append.thread_id, append.messages));
  Result<std::string> body = link_->Call(Request(Operation::kAppendRun, append), nullptr);
  if (body.status().code() == StatusCode::kFenced) link_->Unhold(append.thread_id, append.run_id);
  return Decode<AppendRunReply>(std::move(body));
}

Status Client::FinishRun(const FinishRunRequest& finish) {
  Status status = CheckIds(finish.append.thread_id, finish.append.messages);
  if (status.ok()) status = link_->Call(Request(Operation::kFinishRun, finish), nullptr).status();
  if (status.ok() || status.code() == StatusCode::kFenced) {
    link_->Unhold(finish.append.thread_id, finish.append.run_id);
  } else {
    // The caller will not use the run again in any case, so the thread must not stay locked.
    link_->Release(finish.append.thread_id, finish.append.run_id);
  }
  return status;
}

Result<StopReply> Client::RequestStop(const StopRequest& stop) {
  AG_RETURN_IF_ERROR(CheckId(stop.thread_id, "thread_id"));
  return Decode<StopReply>(link_->Call(Request(Operation::kRequestStop, stop), nullptr));
}

Result<WaitingThread> Client::FindWaitingThread(const WaitingThreadQuery& query) {
  return Decode<WaitingThread>(link_->Call(Request(Operation::kFindWaitingThread, query), nullptr));
}

Result<ThreadRecord> Client::GetThread(const Scope& scope, const std::string& thread_id) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  return Decode<ThreadRecord>(
      link_->Call(Request(Operation::kGetThread, wire::ThreadBody{scope, thread_id}), nullptr));
}

Result<ThreadPage> Client::ListThreads(const Scope& scope, const PageRequest& page) {
  return Decode<ThreadPage>(
      link_->Call(Request(Operation::kListThreads, wire::ListThreadsBody{scope, page}), nullptr));
}

Status Client::DeleteThread(const Scope& scope, const std::string& thread_id) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  return link_->Call(Request(Operation::kDeleteThread, wire::ThreadBody{scope, thread_id}), nullptr)
      .status();
}

Result<ThreadState> Client::GetState(const Scope& scope, const std::string& thread_id) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  return Decode<ThreadState>(
      link_->Call(Request(Operation::kGetState, wire::ThreadBody{scope, thread_id}), nullptr));
}

Result<ThreadState> Client::PutState(const PutStateRequest& put) {
  AG_RETURN_IF_ERROR(CheckIds(put.thread_id, put.messages));
  AG_RETURN_IF_ERROR(CheckUser(put.user_id));
  return Decode<ThreadState>(link_->Call(Request(Operation::kPutState, put), nullptr));
}

Status Client::ClearState(const Scope& scope, const std::string& thread_id) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  return link_->Call(Request(Operation::kClearState, wire::ThreadBody{scope, thread_id}), nullptr)
      .status();
}

Result<MessagePage> Client::ListMessages(const Scope& scope, const std::string& thread_id,
                                         const PageRequest& page) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  return Decode<MessagePage>(link_->Call(
      Request(Operation::kListMessages, wire::ListMessagesBody{scope, thread_id, page}), nullptr));
}

Result<StoredMessage> Client::GetMessage(const Scope& scope, const std::string& thread_id,
                                         const std::string& message_id) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  AG_RETURN_IF_ERROR(CheckId(message_id, "message_id"));
  return Decode<StoredMessage>(link_->Call(
      Request(Operation::kGetMessage, wire::MessageBody{scope, thread_id, message_id}), nullptr));
}

Status Client::DeleteMessage(const Scope& scope, const std::string& thread_id,
                             const std::string& message_id) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  AG_RETURN_IF_ERROR(CheckId(message_id, "message_id"));
  return link_
      ->Call(Request(Operation::kDeleteMessage, wire::MessageBody{scope, thread_id, message_id}),
             nullptr)
      .status();
}

Status Client::AppendMessages(const AppendMessagesRequest& append) {
  AG_RETURN_IF_ERROR(CheckIds(append.thread_id, append.messages));
  AG_RETURN_IF_ERROR(CheckUser(append.user_id));
  return link_->Call(Request(Operation::kAppendMessages, append), nullptr).status();
}

Status Client::RemoveMessages(const RemoveMessagesRequest& remove) {
  AG_RETURN_IF_ERROR(CheckId(remove.thread_id, "thread_id"));
  return link_->Call(Request(Operation::kRemoveMessages, remove), nullptr).status();
}

Result<RunTraces> Client::ReadRuns(const ReadRunsRequest& read) {
  AG_RETURN_IF_ERROR(CheckId(read.thread_id, "thread_id"));
  return Decode<RunTraces>(link_->Call(Request(Operation::kReadRuns, read), nullptr));
}

Status Client::ReplaceRemoteTools(const ReplaceRemoteToolsRequest& set) {
  return link_->Call(Request(Operation::kReplaceRemoteTools, set), nullptr).status();
}

Result<RemoteTools> Client::GetRemoteTools() {
  return Decode<RemoteTools>(
      link_->Call(Request(Operation::kGetRemoteTools, wire::NoBody{}), nullptr));
}

Result<VerifyReport> Client::Verify() {
  return Decode<VerifyReport>(link_->Call(Request(Operation::kVerify, wire::NoBody{}), nullptr));
}

Result<BackupReport> Client::Backup(const std::string& name) {
  return Decode<BackupReport>(
      link_->Call(Request(Operation::kBackup, wire::BackupBody{name}), nullptr));
}

Status Client::StoreMemory(const StoreMemoryRequest& store) {
  AG_RETURN_IF_ERROR(CheckId(store.record.id, "memory_id"));
  AG_RETURN_IF_ERROR(CheckUser(store.record.owner));
  return link_->Call(Request(Operation::kStoreMemory, store), nullptr).status();
}

Result<MemoryRecord> Client::GetMemory(const MemoryName& name) {
  AG_RETURN_IF_ERROR(CheckId(name.id, "memory_id"));
  return Decode<MemoryRecord>(link_->Call(Request(Operation::kGetMemory, name), nullptr));
}

Status Client::UpdateMemory(const UpdateMemoryRequest& update) {
  AG_RETURN_IF_ERROR(CheckId(update.name.id, "memory_id"));
  return link_->Call(Request(Operation::kUpdateMemory, update), nullptr).status();
}

Status Client::DeleteMemory(const MemoryName& name) {
  AG_RETURN_IF_ERROR(CheckId(name.id, "memory_id"));
  return link_->Call(Request(Operation::kDeleteMemory, name), nullptr).status();
}

Result<MemoryPage> Client::ListMemories(const ListMemoriesRequest& list) {
  return Decode<MemoryPage>(link_->Call(Request(Operation::kListMemories, list), nullptr));
}

Result<RemovedMemories> Client::RemoveMemories(const RemoveMemoriesRequest& remove) {
  return Decode<RemovedMemories>(link_->Call(Request(Operation::kRemoveMemories, remove), nullptr));
}

Result<UnembeddedPage> Client::ListUnembedded(const ListUnembeddedRequest& list) {
  return Decode<UnembeddedPage>(link_->Call(Request(Operation::kListUnembedded, list), nullptr));
}

Result<uint64_t> Client::ReplaceVectors(const ReplaceVectorsRequest& put) {
  AG_ASSIGN_OR_RETURN(
      const ReplacedVectors done,
      Decode<ReplacedVectors>(link_->Call(Request(Operation::kReplaceVectors, put), nullptr)));
  return done.count;
}

Result<MemoryHits> Client::SearchMemories(const SearchMemoriesRequest& search) {
  return Decode<MemoryHits>(link_->Call(Request(Operation::kSearchMemories, search), nullptr));
}

Result<std::vector<LogEntry>> Client::ReadLog(const Scope& scope, const std::string& thread_id,
                                              uint64_t first, uint64_t limit) {
  AG_RETURN_IF_ERROR(CheckId(thread_id, "thread_id"));
  AG_ASSIGN_OR_RETURN(
      wire::LogBody log,
      Decode<wire::LogBody>(link_->Call(
          Request(Operation::kReadLog, wire::ReadLogBody{scope, thread_id, first, limit}),
          nullptr)));
  return std::move(log.entries);
}

}  // namespace agent_graph::state
