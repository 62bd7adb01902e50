#include "live/journal.h"

#include <utility>

#include "base/ids.h"
#include "base/json.h"
#include "message/codec.h"
#include "run/execution_meta.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::live {
namespace {

constexpr std::chrono::seconds kFinishMax{20};

std::string StartedJson(const run::RunEnvironment& environment) {
  std::string out = "{\"run_id\":";
  AppendJsonString(out, environment.run_id);
  out += ",\"graph\":";
  AppendJsonString(out, environment.graph->name());
  out += ",\"graph_hash\":";
  AppendJsonString(out, environment.graph->hash());
  out.push_back('}');
  return out;
}

std::string NodeJson(const std::string& node) {
  std::string out = "{\"node\":";
  AppendJsonString(out, node);
  out += ",\"step\":1}";
  return out;
}

std::string FinishedJson(const run::RunEnvironment& environment, const std::string& status) {
  std::string out = "{\"run_id\":";
  AppendJsonString(out, environment.run_id);
  out += ",\"status\":";
  AppendJsonString(out, status);
  out.push_back('}');
  return out;
}

}  // namespace

Journal::Journal(Options options)
    : options_(std::move(options)),
      log_(options_.state, options_.environment->thread_id, options_.environment->run_id,
           options_.begun.lease_epoch, /*record=*/false) {
  log_.Add("run_started", StartedJson(*options_.environment));
  log_.Add("node_started", NodeJson(options_.node));
}

run::RunLog Journal::MakeLog() const {
  return {options_.state, options_.environment->thread_id, options_.environment->run_id,
          options_.begun.lease_epoch, /*record=*/false};
}

void Journal::Append(Message message) {
  if (message.id.empty()) message.id = NewUuid();
  if (message.timestamp == 0) message.timestamp = UnixSeconds();
  queue_.push_back({std::move(message), {}, {}});
  Wake();
}

void Journal::StoreHandle(std::string handle, std::function<void()> done) {
  queue_.push_back({{}, std::move(handle), std::move(done)});
  Wake();
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
        const Message& message = queue_.front().message;
        log_.AddMessage(message, message::ToJsonText(message),
                        message.role == Role::kUser ? "" : options_.node);
        queue_.pop_front();
      }
      if (!lost_) status = log_.Flush(options_.node, 1);
    } else {
      const Entry entry = std::move(queue_.front());
      queue_.pop_front();
      status = WriteHandle(entry.handle);
      entry.done();
    }
    if (!status.ok()) Lose(status);
    if (log_.stop_requested() && !std::exchange(stop_requested_, true) && changed_) changed_();
  }
  writing_ = false;
  idle_.Notify();
}

// The thread belongs to another run now, or the state cannot be reached: nothing more can be kept,
// and a conversation that is not kept must not look as if it were.
void Journal::Lose(const Status& status) {
  options_.environment->Log(LogLevel::kError, options_.node, status.ToString());
  if (status.code() != StatusCode::kFenced) return;
  lost_ = true;
  if (!std::exchange(stop_requested_, true) && changed_) changed_();
}

Status Journal::WriteHandle(const std::string& handle) {
  if (options_.state == nullptr || lost_) return Status::Ok();
  state::AppendMessages append;
  append.scope = options_.request.scope;
  append.thread_id = options_.environment->thread_id;
  append.user_id = options_.request.user_id;
  append.creation_id = options_.begun.state.record.creation_id;
  append.metadata_json = "{\"resumption_handle\":";
  AppendJsonString(append.metadata_json, handle);
  append.metadata_json.push_back('}');
  return options_.state->Append(append);
}

void Journal::Finish(const std::string& status) {
  changed_ = nullptr;
  const Deadline deadline = DeadlineAfter(kFinishMax);
  while (writing_ && MonotonicClock::now() < deadline) idle_.Wait(nullptr, deadline);
  if (options_.state == nullptr || lost_ || writing_) return;
  log_.Add("node_finished", NodeJson(options_.node));
  log_.Add("run_finished", FinishedJson(*options_.environment, status));
  state::Snapshot snapshot = options_.begun.state.snapshot;
  run::ExecutionMeta meta;
  meta.current_node = "END";
  meta.step = 1;
  meta.stopped = status == "stopped";
  if (status == "error") meta.phase = run::ExecutionMeta::Phase::kError;
  snapshot.execution_json = meta.ToJson();
  snapshot.graph_name = options_.environment->graph->name();
  snapshot.graph_hash = options_.environment->graph->hash();
  const Status finished = log_.Finish(std::move(snapshot), status, "END", 1, "");
  if (!finished.ok()) Lose(finished);
}

}  // namespace agent_graph::live
