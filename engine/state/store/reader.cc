#include "state/store/reader.h"

#include <algorithm>

#include "base/clock.h"
#include "base/free_memory.h"
#include "base/json_weight.h"
#include "state/requests.h"
#include "state/rules/stored_json.h"
#include "state/store/memories.h"
#include "state/thread/listing.h"
#include "state/thread/message_read.h"
#include "state/thread/run_read.h"
#include "state/thread/run_traces.h"
#include "state/thread/thread_read.h"
#include "state/thread/waiting_thread.h"
#include "state/verify/verify.h"

namespace agent_graph::state {
namespace {

// Offsets up to this are as cheap as a first page.
constexpr uint64_t kShallowOffsetMax = 1000;
// Limits of LoadIfLittle: messages of the window, their bytes, and bytes of the thread's fields.
// Only reading the fields shows that they are larger. That delay is acceptable, because each turn
// of such a thread also writes them.
constexpr size_t kLittleMessages = 48;
constexpr size_t kLittleMessageBytes = size_t{256} * 1024;
constexpr size_t kLittleFieldBytes = size_t{64} * 1024;

Reader::Cost CostOfPage(const PageRequest& page, uint64_t skip) {
  return !page.search.empty() || page.metadata.size() > 1 || skip > kShallowOffsetMax
             ? Reader::Cost::kRows
             : Reader::Cost::kSmall;
}

Status Malformed() {
  return Status(StatusCode::kInvalidArgument, "malformed state operation");
}

template <typename T>
Result<std::string> Packed(Result<T> result) {
  if (!result.ok()) return result.status();
  return pack::ToBytes(*result);
}

Result<ThreadRecord> GetThread(const DatabaseSnapshot& snapshot, const ThreadRequest& body) {
  AG_ASSIGN_OR_RETURN(ThreadRow thread, ReadThread(snapshot, body.scope, body.thread_id));
  return thread.Record(body.thread_id);
}

Result<ThreadState> GetState(const DatabaseSnapshot& snapshot, const ThreadRequest& body) {
  AG_ASSIGN_OR_RETURN(ThreadRow thread, ReadThread(snapshot, body.scope, body.thread_id));
  return ReadState(snapshot, body.thread_id, thread);
}

Result<GetStateUpToReply> GetStateUpTo(const DatabaseSnapshot& snapshot,
                                       const GetStateUpToRequest& body) {
  AG_ASSIGN_OR_RETURN(ThreadState state, GetState(snapshot, {body.scope, body.thread_id}));
  const size_t bytes = pack::ToBytes(state).size();
  if (bytes <= body.bytes_max) return GetStateUpToReply{.state = std::move(state)};
  return GetStateUpToReply{.state = {}, .omitted_bytes = bytes};
}

Result<StoredMessage> GetMessage(const DatabaseSnapshot& snapshot, const MessageRequest& body) {
  AG_ASSIGN_OR_RETURN(ThreadRow thread, ReadThread(snapshot, body.scope, body.thread_id));
  return ReadMessage(snapshot, thread.key(), body.message_id);
}

Result<MessagePage> ListMessages(const DatabaseSnapshot& snapshot,
                                 const ListMessagesRequest& body) {
  AG_ASSIGN_OR_RETURN(ThreadRow thread, ReadThread(snapshot, body.scope, body.thread_id));
  return ReadMessages(snapshot, thread.key(), body.page);
}

Result<LogEntries> ReadLog(const DatabaseSnapshot& snapshot, const ReadLogRequest& body) {
  AG_ASSIGN_OR_RETURN(ThreadRow thread, ReadThread(snapshot, body.scope, body.thread_id));
  LogEntries log;
  AG_ASSIGN_OR_RETURN(log.entries, ReadLogEntries(snapshot, thread.key(), body.first, body.limit));
  return log;
}

Result<RunTraces> ReadTraces(const DatabaseSnapshot& snapshot, const ReadRunsRequest& read) {
  AG_ASSIGN_OR_RETURN(ThreadRow thread, ReadThread(snapshot, read.scope, read.thread_id));
  return ReadRunTraces(snapshot, thread.key(), read);
}

Result<KeyRecord> ReadKey(const DatabaseSnapshot& snapshot, const FindKeyRequest& find,
                          int64_t now) {
  AG_ASSIGN_OR_RETURN(const std::optional<RunKeyRow> row,
                      ReadRow<RunKeyRow>(snapshot, keys::RunKey(find.user, find.route, find.key)));
  if (!row || row->expires_micros <= now) return NotFound("no such key");
  return row->Record();
}

Result<RemoteTools> GetRemoteTools(const DatabaseSnapshot& snapshot, const EmptyRequest&) {
  AG_ASSIGN_OR_RETURN(std::optional<RemoteTools> tools,
                      ReadRow<RemoteTools>(snapshot, keys::Meta(kRemoteToolsName)));
  return std::move(tools).value_or(RemoteTools());
}

// Decodes the function's request body, calls it and packs its result.
template <typename Body, typename Reply>
Result<std::string> Run(Result<Reply> (*read)(const DatabaseSnapshot&, const Body&),
                        const DatabaseSnapshot& snapshot, pack::Unpacker& unpacker) {
  Body body;
  if (!pack::TryUnpack(unpacker, body)) return Malformed();
  return Packed(read(snapshot, body));
}

}  // namespace

Result<std::string> Reader::Execute(Operation operation, pack::Unpacker& unpacker) const {
  if (operation == Operation::kSearchMemories) {
    SearchMemoriesRequest search;
    if (!pack::TryUnpack(unpacker, search)) return Malformed();
    return Packed(memories_.Search(search));
  }
  if (operation == Operation::kVerify) return Packed(Verify(database_, &stopping_));
  if (operation == Operation::kBackup) {
    BackupRequest body;
    if (!pack::TryUnpack(unpacker, body)) return Malformed();
    return Packed(MakeBackup(body));
  }
  if (operation == Operation::kGetRunTotals) return Packed(GetRunTotals());
  if (operation == Operation::kListThreads) {
    ListThreadsRequest body;
    if (!pack::TryUnpack(unpacker, body)) return Malformed();
    return Packed(ListThreads(body));
  }
  DatabaseSnapshot snapshot(database_);
  if (operation == Operation::kFindKey) {
    FindKeyRequest find;
    if (!pack::TryUnpack(unpacker, find)) return Malformed();
    return Packed(ReadKey(snapshot, find, database_.Now()));
  }
  switch (operation) {
    case Operation::kGetThread:
      return Run(GetThread, snapshot, unpacker);
    case Operation::kGetState:
      return Run(GetState, snapshot, unpacker);
    case Operation::kGetStateUpTo:
      return Run(GetStateUpTo, snapshot, unpacker);
    case Operation::kListMessages:
      return Run(ListMessages, snapshot, unpacker);
    case Operation::kGetMessage:
      return Run(GetMessage, snapshot, unpacker);
    case Operation::kReadLog:
      return Run(ReadLog, snapshot, unpacker);
    case Operation::kReadRuns:
      return Run(ReadTraces, snapshot, unpacker);
    case Operation::kGetRun:
      return Run(ReadRun, snapshot, unpacker);
    case Operation::kListRuns:
      return Run(ReadRunPage, snapshot, unpacker);
    case Operation::kGetRemoteTools:
      return Run(GetRemoteTools, snapshot, unpacker);
    case Operation::kFindWaitingThread:
      return Run(FindWaitingThread, snapshot, unpacker);
    case Operation::kGetMemory:
      return Run(ReadMemory, snapshot, unpacker);
    case Operation::kListMemories:
      return Run(ReadMemoryPage, snapshot, unpacker);
    case Operation::kListUnembedded:
      return Run(ReadUnembedded, snapshot, unpacker);
    default:
      return Status(StatusCode::kInvalidArgument, kUnknownOperation);
  }
}

Result<FollowRunReply> Reader::Follow(const FollowRunRequest& follow) const {
  AG_ASSIGN_OR_RETURN(FollowRunReply reply, ReadRunEntries(DatabaseSnapshot(database_), follow));
  reply.history = database_.history();
  return reply;
}

Result<WatchRunReply> Reader::Watch(const WatchRunRequest& watch) const {
  return ReadRunProgress(DatabaseSnapshot(database_), watch);
}

Result<RunTotals> Reader::GetRunTotals() const {
  RunTotals totals;
  const DatabaseSnapshot snapshot(database_);
  // One row per host; '~' is above the digits of their names.
  AG_RETURN_IF_ERROR(snapshot.Scan(keys::Meta(kRunTotalsName),
                                   keys::Meta(std::string(kRunTotalsName) + "~"),
                                   [&](std::string_view, std::string_view value) {
                                     RunTotals row;
                                     if (!pack::FromBytes(value, row)) return true;
                                     totals.continued += row.continued;
                                     totals.poisoned += row.poisoned;
                                     return true;
                                   }));
  totals.longest_wait_micros = longest_wait_micros_.load(std::memory_order_relaxed);
  return totals;
}

Result<ThreadPage> Reader::ListThreads(const ListThreadsRequest& body) const {
  // Other hosts do not tell this one which threads they change.
  const bool is_shared = !database_.instance().empty();
  if (!is_shared && ListingHeads::MayHold(body)) return heads_.Read(body);
  return ReadThreadPage(DatabaseSnapshot(database_), body);
}

Result<BackupReport> Reader::MakeBackup(const BackupRequest& body) const {
  if (!IsBackupName(body.name)) {
    return Status(StatusCode::kInvalidArgument, "invalid name of a backup");
  }
  const bool is_shared = !database_.instance().empty();
  if (backup_directory_.empty() && !is_shared) {
    return Status(StatusCode::kNotConfigured, "state that is kept in memory has no backups");
  }
  return database_.BackUp(backup_directory_ + "/" + body.name, &stopping_);
}

Result<ThreadRow> Reader::ThreadOf(const DatabaseSnapshot& snapshot, const ReplyRow& reply) {
  Result<ThreadRow> thread = ReadThread(snapshot, Scope::All(), reply.thread_id);
  // Since the reply was made the thread may have been deleted and its id reused by another owner.
  // 0: stored by an older program
  const bool is_another =
      thread.ok() && reply.thread_number != 0 && thread->number != reply.thread_number;
  if (is_another) thread = Status(StatusCode::kNotFound, "thread not found");
  const bool begins = reply.load == ReplyRow::Load::kBeginRun;
  if (begins && thread.status().code() == StatusCode::kNotFound) return Fenced();
  return thread;
}

Result<std::string> Reader::Load(const ReplyRow& reply, std::unique_ptr<DatabaseView> known) const {
  if (reply.load == ReplyRow::Load::kNothing) return reply.body;
  const DatabaseSnapshot snapshot(known != nullptr ? std::move(known) : database_.TakeView());
  AG_ASSIGN_OR_RETURN(const ThreadRow thread, ThreadOf(snapshot, reply));
  if (reply.load == ReplyRow::Load::kThreadState) {
    return Packed(ReadState(snapshot, reply.thread_id, thread));
  }
  AG_ASSIGN_OR_RETURN(BegunWindow window, ReadBegunWindow(snapshot, thread, reply.known_window));
  return LoadBegun(snapshot, reply, thread, std::move(window), kAnyBytes);
}

std::optional<Result<std::string>> Reader::LoadIfLittle(const ReplyRow& reply) const {
  if (reply.load != ReplyRow::Load::kBeginRun) return std::nullopt;
  const DatabaseSnapshot snapshot(database_.TakeView());
  const Result<ThreadRow> thread = ThreadOf(snapshot, reply);
  if (!thread.ok()) return thread.status();
  const auto stored = snapshot.Get(keys::Snapshot(thread->key()));
  if (!stored.ok()) return stored.status();
  if (*stored && (*stored)->size() > kLittleFieldBytes) return std::nullopt;
  Result<BegunWindow> window = ReadBegunWindow(snapshot, *thread, reply.known_window);
  if (!window.ok()) return window.status();
  if (window->items.size() > kLittleMessages) return std::nullopt;
  Result<std::string> begun =
      LoadBegun(snapshot, reply, *thread, std::move(*window), kLittleMessageBytes);
  if (begun.status().code() == StatusCode::kResourceExhausted) return std::nullopt;
  return begun;
}

Result<std::string> Reader::LoadBegun(const DatabaseSnapshot& snapshot, const ReplyRow& reply,
                                      const ThreadRow& thread, BegunWindow window,
                                      size_t bytes_max) {
  BeginRunReply begun{.created = reply.created,
                      .lease_epoch = reply.lease_epoch,
                      .state = {},
                      .remote_tools_version = reply.remote_tools_version,
                      .thread_number = thread.number};
  AG_RETURN_IF_ERROR(
      ReadBegunState(snapshot, reply.thread_id, thread, std::move(window), bytes_max, begun));
  std::string bytes = pack::ToBytes(begun);
  if (!reply.reply_bytes_max || bytes.size() <= *reply.reply_bytes_max) return bytes;
  begun.omitted_bytes = bytes.size() + JsonWeight(begun.state.snapshot.fields_json).structure() +
                        json_weight::kMessage * begun.state.window.size();
  FreeMemory(begun.state);
  begun.window_is_partial = false;
  begun.window_sequences.clear();
  begun.known_through = 0;
  return pack::ToBytes(begun);
}

Reader::Cost Reader::CostOf(Operation operation, pack::Unpacker unpacker) {
  switch (operation) {
    case Operation::kReadRuns:
    case Operation::kListUnembedded:
      return Cost::kRows;
    case Operation::kVerify:
    case Operation::kBackup:
      return Cost::kEverything;
    case Operation::kSearchMemories:
      return Cost::kVectors;
    case Operation::kListMemories: {
      ListMemoriesRequest list;
      pack::Unpack(unpacker, list);
      return list.filter.equals.empty() ? Cost::kSmall : Cost::kRows;
    }
    case Operation::kListThreads: {
      ListThreadsRequest body;
      pack::Unpack(unpacker, body);
      return CostOfPage(body.page, ThreadsToSkip(body.page));
    }
    case Operation::kListMessages: {
      ListMessagesRequest body;
      pack::Unpack(unpacker, body);
      return CostOfPage(body.page, MessagesToSkip(body.page));
    }
    default:
      return Cost::kSmall;
  }
}

}  // namespace agent_graph::state
