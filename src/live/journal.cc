#include "live/journal.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ids.h"
#include "base/json.h"
#include "base/text.h"
#include "message/codec.h"
#include "run/context/execution_meta.h"
#include "run/log/run_record.h"
#include "run/loop/thread_name.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"
#include "state/requests.h"

namespace agent_graph::live {
namespace {

constexpr size_t kNamingMessagesMax = 20;
constexpr size_t kNamingBytesMax = 4 * 1024;  // of each message

run::RunStatus StatusOf(const std::string& status) {
  return run::ParseRunStatus(status).value_or(run::RunStatus::kError);
}

}  // namespace

Journal::Journal(Options options)
    : options_(std::move(options)),
      log_(options_.state, options_.environment->thread_id, options_.environment->run_id,
           options_.begun.lease_epoch, options_.environment->services->on_finished != nullptr),
      started_micros_(UnixMicros()) {
  log_.Add(run::entry::RunStarted{.run_id = options_.environment->run_id,
                                  .graph = options_.environment->graph->name(),
                                  .graph_hash = options_.environment->graph->hash()});
  log_.Add(run::entry::NodeStarted{.node = options_.node, .step = 1});
}

run::RunLog Journal::MakeLog() const {
  run::RunLog log(options_.state, options_.environment->thread_id, options_.environment->run_id,
                  options_.begun.lease_epoch,
                  options_.environment->services->on_finished != nullptr);
  log.WriteBeside();
  return log;
}

void Journal::TakeToolRecord(run::RunLog& log) {
  for (state::LogEntry& entry : log.TakeRecord()) {
    if (tools_recorded_.size() >= run::kRecordEntriesMax) return;
    tools_recorded_.push_back(std::move(entry));
  }
}

void Journal::Append(Message message) {
  if (message.id.empty()) message.id = NewUuid();
  if (message.timestamp == 0) message.timestamp = UnixSeconds();
  KeepForName(message);
  std::string json = message::ToJsonText(message);
  Push({.message = std::move(message), .message_json = std::move(json)});
}

// True if the thread gets its name from the messages of this session.
bool Journal::NamesThread() const {
  return options_.state != nullptr && options_.begun.created &&
         options_.begun.state.record.name.empty();
}

// Keeps the beginning of the text, because a session may last for hours.
void Journal::KeepForName(const Message& message) {
  if (!NamesThread() || !options_.environment->services->name_thread) return;
  if (first_messages_.size() >= kNamingMessagesMax) return;
  const std::string text = message.Text();
  if (text.empty()) return;
  const std::string_view beginning = CutAtCharacter(text, kNamingBytesMax);
  naming_bytes_ += beginning.size();
  first_messages_.push_back(Message::User(std::string(beginning)));
}

void Journal::AddModelCall(const std::string& agent, const std::string& model, Duration duration,
                           std::string_view stop_reason) {
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  // The entry that a model call of a graph node writes, too.
  Push({.model_call = run::entry::ModelFinished{.node = agent,
                                                .model_name = model,
                                                .duration_micros = micros,
                                                .stop_reason = std::string(stop_reason)}});
}

void Journal::StoreHandle(std::string handle, std::function<void()> done) {
  Push({.handle = std::move(handle), .done = std::move(done)});
}

size_t Journal::Entry::bytes() const {
  return sizeof(Entry) + message_json.size() + handle.size();
}

void Journal::Push(Entry entry) {
  queued_bytes_ += entry.bytes();
  queue_.push_back(std::move(entry));
  Wake();
}

Journal::Entry Journal::Pop() {
  Entry entry = std::move(queue_.front());
  queue_.pop_front();
  queued_bytes_ -= entry.bytes();
  return entry;
}

void Journal::AddToLog(Entry entry) {
  logged_bytes_ += entry.bytes();
  if (entry.model_call) return log_.Add(*entry.model_call);
  log_.AddMessage(entry.message, std::move(entry.message_json),
                  entry.message.role == Role::kUser ? "" : options_.node);
}

void Journal::Wake() {
  if (std::exchange(writing_, true)) return;
  options_.environment->runtime->Spawn([self = shared_from_this()] { self->Write(); },
                                       /*here=*/true);
}

void Journal::Write() {
  while (!queue_.empty()) {
    Status status;
    if (queue_.front().handle.empty()) {
      while (!queue_.empty() && queue_.front().handle.empty()) {
        AddToLog(Pop());
      }
      if (!lost_) status = log_.Flush(options_.node, 1);
      if (status.ok()) logged_bytes_ = 0;
      if (!status.ok()) OnWriteFailed(status);
    } else {
      const Entry entry = Pop();
      status = WriteHandle(entry.handle);
      if (!status.ok()) OnWriteFailed(status);
      if (status.ok() && !lost_) entry.done();
    }
    if (log_.stop_requested() && !std::exchange(stop_requested_, true) && changed_) changed_();
  }
  if (late_status_ && !lost_) Release(*late_status_);
  writing_ = false;
  idle_.Notify();
}

// Handles a failed write. kFenced: the thread was deleted or belongs to another run. Then nothing
// more can be stored and the session must end, because it must not go on as if the conversation
// were stored. After other failures the entries stay in log_ and are written with the next ones.
void Journal::OnWriteFailed(const Status& status) {
  options_.environment->Log(LogLevel::kError, options_.node, status.ToString());
  if (status.code() != StatusCode::kFenced) return;
  lost_ = true;
  if (changed_) changed_();
}

Status Journal::WriteHandle(const std::string& handle) {
  if (lost_) return Status::Ok();
  std::string metadata = "{";
  AppendJsonString(metadata, state::kResumptionHandle);
  metadata.push_back(':');
  AppendJsonString(metadata, handle);
  metadata.push_back('}');
  return log_.MergeMetadata(std::move(metadata), options_.node, 1);
}

bool Journal::IsDeleted() const {
  if (options_.state == nullptr) return false;
  const auto thread =
      options_.state->GetThread(options_.request.scope, options_.environment->thread_id);
  return thread.status().code() == StatusCode::kNotFound;
}

void Journal::Finish(const std::string& status) {
  changed_ = nullptr;
  const Deadline deadline = DeadlineAfter(options_.finish_max);
  while (writing_ && MonotonicClock::now() < deadline) idle_.Wait(nullptr, deadline);
  if (writing_) {
    late_status_ = status;
  } else if (!lost_) {
    Release(status);
  }
  Report(status);
}

void Journal::Release(const std::string& status) {
  log_.Add(run::entry::NodeFinished{.node = options_.node, .step = 1});
  log_.Add(
      run::entry::RunFinished{.run_id = options_.environment->run_id, .status = StatusOf(status)});
  state::FinishRunRequest finish;  // a session changes no state fields
  finish.status = status;
  state::Snapshot& snapshot = finish.snapshot;
  snapshot = options_.begun.state.snapshot;
  run::ExecutionMeta meta;
  meta.current_node = "END";
  meta.step = 1;
  meta.stopped = status == "stopped";
  if (status == "error") meta.phase = run::ExecutionMeta::Phase::kError;
  snapshot.execution_json = meta.ToJson();
  snapshot.graph_name = options_.environment->graph->name();
  snapshot.graph_hash = options_.environment->graph->hash();
  finish.thread_name = NameThread();
  const Status finished = log_.Finish(std::move(finish), "END", 1);
  if (!finished.ok()) OnWriteFailed(finished);
}

std::string Journal::NameThread() {
  if (!NamesThread()) return "";
  return run::NameThread(*options_.environment, first_messages_);
}

void Journal::Report(const std::string& status) {
  if (!options_.environment->services->on_finished) return;
  run::RunRecord record;
  record.thread_id = options_.environment->thread_id;
  record.run_id = options_.environment->run_id;
  record.graph_name = options_.environment->graph->name();
  record.trace_parent = options_.request.trace_parent;
  record.status = StatusOf(status);
  record.started_micros = started_micros_;
  record.finished_micros = UnixMicros();
  record.entries = log_.TakeRecord();
  std::move(tools_recorded_.begin(), tools_recorded_.end(), std::back_inserter(record.entries));
  std::stable_sort(record.entries.begin(), record.entries.end(),
                   [](const auto& one, const auto& other) { return one.micros < other.micros; });
  options_.environment->services->on_finished(std::move(record));
}

}  // namespace agent_graph::live
