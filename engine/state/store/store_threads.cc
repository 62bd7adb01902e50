// Store: direct changes of threads, outside of runs.
#include <algorithm>

#include "state/limits.h"
#include "state/requests.h"
#include "state/rules/scope.h"
#include "state/rules/stored_json.h"
#include "state/store/store.h"

namespace agent_graph::state {
namespace {

// Number of threads whose age is checked at once, and the pause before the next portion, in which
// other operations run.
constexpr size_t kExpiredAtOnce = 100;
constexpr std::chrono::milliseconds kExpiryBreath{50};
constexpr std::chrono::seconds kExpiryInterval{60};

constexpr size_t kRemoteToolsMax = 1024;  // over all tool nodes

Status NoSuchThread() {
  return NotFound("thread not found");
}

}  // namespace

Result<ThreadRow> Store::ReadableThread(const Scope& scope, const std::string& thread_id) const {
  AG_ASSIGN_OR_RETURN(std::optional<ThreadRow> thread, FindThread(transaction_, thread_id));
  if (!thread || !InScope(scope, thread->owner)) return NoSuchThread();
  return std::move(*thread);
}

Result<ThreadRow> Store::WritableThread(const Scope& scope, const NewThread& thread,
                                        bool& created) {
  AG_ASSIGN_OR_RETURN(std::optional<ThreadRow> existing,
                      FindThread(transaction_, thread.thread_id));
  created = !existing;
  if (existing) {
    if (InScope(scope, existing->owner)) return std::move(*existing);
    return Status(StatusCode::kPermissionDenied, "the thread belongs to another user");
  }
  NewThread owned = thread;
  if (scope.kind == Scope::Kind::kOwner) owned.owner = scope.user_id;
  return CreateThread(transaction_, owned);
}

namespace {

// The data that a realtime provider remembers is part of the context.
Status ForgetProvider(ThreadRow& thread) {
  if (thread.metadata_json.find(kResumptionHandle) == std::string::npos) return Status::Ok();
  const std::string removed = "{\"" + std::string(kResumptionHandle) + "\":null}";
  AG_ASSIGN_OR_RETURN(thread.metadata_json,
                      MergeJsonObjects(thread.metadata_json, removed, "metadata"));
  return Status::Ok();
}

}  // namespace

Result<ReplyRow> Store::PutState(const PutStateRequest& put, int64_t micros) {
  bool created = false;
  AG_ASSIGN_OR_RETURN(
      ThreadRow thread,
      WritableThread(put.scope, {put.thread_id, put.user_id, put.creation_id, {}, micros},
                     created));
  ThreadEditor editor(transaction_, thread.key());
  AG_ASSIGN_OR_RETURN(Snapshot snapshot, editor.ReadSnapshot());
  KeepRunBase(put.thread_id, editor);
  AG_ASSIGN_OR_RETURN(snapshot.fields_json,
                      MergeJsonObjects(snapshot.fields_json, put.fields_json, "state"));
  if (put.summary && put.summary->size() > kSummaryBytesMax) {
    return Status(StatusCode::kInvalidArgument, "context_summary: must not be larger than " +
                                                    std::to_string(kSummaryBytesMax) + " bytes");
  }
  if (put.summary_present) snapshot.summary = put.summary;
  if (put.context_cleared) {
    editor.ClearWindow();
    AG_RETURN_IF_ERROR(ForgetProvider(thread));
  }
  AG_ASSIGN_OR_RETURN(const uint64_t first_new, editor.NextSequence());
  AG_RETURN_IF_ERROR(editor.AddMessages(put.messages, ThreadEditor::Existing::kReplace));
  editor.WriteSnapshot(snapshot);
  const AddedMessages added{put.messages, first_new, ThreadEditor::Existing::kReplace};
  AG_RETURN_IF_ERROR(SettlePause(put.thread_id, thread, editor, &added));
  editor.Save();
  TouchThread(transaction_, put.thread_id, thread, micros);
  if (leases_.contains(put.thread_id)) {
    OutsideChange change;
    AG_ASSIGN_OR_RETURN(change.fields, MemberNames(put.fields_json, "state"));
    change.summary = put.summary_present;
    change.context_cleared = put.context_cleared;
    AG_RETURN_IF_ERROR(NoteOutsideChange(put.thread_id, change));
  }
  ReplyRow reply;
  reply.load = ReplyRow::Load::kThreadState;
  reply.thread_id = put.thread_id;
  reply.thread_number = thread.number;
  return reply;
}

Result<ReplyRow> Store::AppendMessages(const AppendMessagesRequest& append, int64_t micros) {
  if (append.must_exist) {
    AG_RETURN_IF_ERROR(ReadableThread(append.scope, append.thread_id).status());
  }
  bool created = false;
  AG_ASSIGN_OR_RETURN(
      ThreadRow thread,
      WritableThread(append.scope,
                     {append.thread_id, append.user_id, append.creation_id, {}, micros}, created));
  AG_ASSIGN_OR_RETURN(thread.metadata_json,
                      MergeJsonObjects(thread.metadata_json, append.metadata_json, "metadata"));
  ThreadEditor editor(transaction_, thread.key());
  AG_ASSIGN_OR_RETURN(const uint64_t first_new, editor.NextSequence());
  AG_RETURN_IF_ERROR(editor.AddMessages(append.messages, ThreadEditor::Existing::kKeep));
  const AddedMessages added{append.messages, first_new, ThreadEditor::Existing::kKeep};
  AG_RETURN_IF_ERROR(SettlePause(append.thread_id, thread, editor, &added));
  editor.Save();
  TouchThread(transaction_, append.thread_id, thread, micros);
  return ReplyRow{};
}

Result<ReplyRow> Store::ClearState(const ThreadRequest& clear, int64_t micros) {
  AG_ASSIGN_OR_RETURN(ThreadRow thread, ReadableThread(clear.scope, clear.thread_id));
  ThreadEditor editor(transaction_, thread.key());
  editor.ClearWindow();
  AG_RETURN_IF_ERROR(ForgetProvider(thread));
  KeepRunBase(clear.thread_id, editor);
  editor.WriteSnapshot({});
  AG_RETURN_IF_ERROR(ReplacePause(clear.thread_id, thread.key(), {}));
  editor.Save();
  TouchThread(transaction_, clear.thread_id, thread, micros);
  OutsideChange change;
  change.everything = true;
  change.context_cleared = true;
  AG_RETURN_IF_ERROR(NoteOutsideChange(clear.thread_id, change));
  return ReplyRow{};
}

Result<ReplyRow> Store::DeleteThread(const ThreadRequest& body) {
  AG_ASSIGN_OR_RETURN(ThreadRow thread, ReadableThread(body.scope, body.thread_id));
  if (auto lease = leases_.find(body.thread_id); lease != leases_.end()) {
    CancelWaiters(lease->second, ThreadWasDeleted());
    NoticeCancel(lease->second.row);
    EndLease(body.thread_id);
  }
  DeleteThreadRows(transaction_, body.thread_id, thread);
  has_new_markers_ = true;
  NoticeDeleted(body.thread_id);
  return ReplyRow{};
}

void Store::NoticeDeleted(const std::string& thread_id) {
  for (const auto& [name, client] : clients_) {
    if (client.connection != 0) Notify(client.connection, ThreadDeleted{thread_id});
  }
  NotifyHosts({HostNotice::Kind::kThreadDeleted, {}, thread_id, {}});
}

void Store::ExpireThreads(MonotonicClock::time_point now) {
  const auto pause =
      std::clamp<std::chrono::seconds>(thread_ttl_ / 10, std::chrono::seconds(1), kExpiryInterval);
  // One host examines all threads, in several portions.
  if (expired_until_.empty() && !Claims("expire threads", pause)) {
    next_expiry_ = now + pause;
    return;
  }
  const int64_t cutoff =
      database_.Now() - std::chrono::duration_cast<std::chrono::microseconds>(thread_ttl_).count();
  std::vector<std::string> expired;
  bool more = false;
  const std::string listing = keys::TablePrefix(keys::Table::kListing);
  // The oldest threads are at the end. Each portion continues where the previous one stopped, so
  // that threads that are kept are not examined again.
  const std::string end = expired_until_.empty() ? keys::PrefixEnd(listing) : expired_until_;
  const Status scanned =
      database_.ScanBackwards(listing, end, [&](std::string_view key, std::string_view) {
        keys::Parser parser(key, keys::Table::kListing);
        if (parser.NewestFirst() > cutoff) return false;
        more = expired.size() == kExpiredAtOnce;
        if (more) return false;
        expired.push_back(parser.Text());
        expired_until_ = key;
        return true;
      });
  UseAll(expired);
  for (const std::string& thread_id : expired) {
    Result<std::optional<ThreadRow>> thread = FindThread(transaction_, thread_id);
    // Keep threads with a run in flight or with uncommitted changes.
    const bool keeps = !thread.ok() || !*thread || (*thread)->updated_micros > cutoff ||
                       leases_.contains(thread_id);
    if (keeps) continue;
    DeleteThreadRows(transaction_, thread_id, **thread);
    transaction_.Accept(false);
    NoticeDeleted(thread_id);
    has_new_markers_ = true;
  }
  more = more && scanned.ok();
  if (!more) expired_until_.clear();
  next_expiry_ = more ? now + kExpiryBreath : now + pause;
}

Result<ReplyRow> Store::DeleteMessage(const MessageRequest& body) {
  AG_ASSIGN_OR_RETURN(ThreadRow thread, ReadableThread(body.scope, body.thread_id));
  ThreadEditor editor(transaction_, thread.key());
  AG_ASSIGN_OR_RETURN(bool found, editor.DeleteMessage(body.message_id));
  if (!found) return Status(StatusCode::kNotFound, "message not found");
  AG_RETURN_IF_ERROR(SettlePause(body.thread_id, thread, editor));
  editor.Save();
  return ReplyRow{};
}

Result<ReplyRow> Store::RemoveMessages(const RemoveMessagesRequest& remove, int64_t micros) {
  AG_ASSIGN_OR_RETURN(ThreadRow thread, ReadableThread(remove.scope, remove.thread_id));
  if (leases_.contains(remove.thread_id)) {
    return Status(StatusCode::kBusy, "the thread has a run in flight");
  }
  const Status changed(StatusCode::kBusy, "the thread has changed in the meantime");
  if (thread.updated_micros != remove.updated_micros) return changed;
  ThreadEditor editor(transaction_, thread.key());
  for (const std::string& message_id : remove.message_ids) {
    AG_ASSIGN_OR_RETURN(bool found, editor.DeleteMessage(message_id));
    if (!found) return changed;
  }
  AG_RETURN_IF_ERROR(SettlePause(remove.thread_id, thread, editor));
  editor.Save();
  TouchThread(transaction_, remove.thread_id, thread, micros);
  return ReplyRow{};
}

Result<ReplyRow> Store::ReplaceRemoteTools(const ReplaceRemoteToolsRequest& set) {
  const std::string key = keys::Meta(kRemoteToolsName);
  AG_ASSIGN_OR_RETURN(std::optional<RemoteTools> stored, transaction_.GetRow<RemoteTools>(key));
  RemoteTools tools = std::move(stored).value_or(RemoteTools());
  if (tools.generation != set.generation) tools.tools.clear();
  tools.generation = set.generation;
  ++tools.version;
  std::erase_if(tools.tools, [&](const RemoteTool& old) {
    return std::any_of(set.tools.begin(), set.tools.end(),
                       [&](const RemoteTool& tool) { return tool.node == old.node; });
  });
  tools.tools.insert(tools.tools.end(), set.tools.begin(), set.tools.end());
  if (tools.tools.size() > kRemoteToolsMax) {
    return Status(StatusCode::kInvalidArgument,
                  "more than " + std::to_string(kRemoteToolsMax) + " remote tools");
  }
  transaction_.PutRow(key, tools);
  remote_tools_version_ = tools.version;
  NotifyHosts({HostNotice::Kind::kRemoteTools, {}, {}, {}});
  return ReplyRow{};
}

}  // namespace agent_graph::state
