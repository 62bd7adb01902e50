#include "run/run_log.h"

#include <utility>

#include "base/clock.h"
#include "run/message_entry.h"
#include "run/run_record.h"
#include "state/service.h"

namespace agent_graph::run {

RunLog::RunLog(state::Service* state, std::string thread_id, std::string run_id,
               uint64_t lease_epoch, bool record)
    : state_(state), recording_(record) {
  pending_.thread_id = std::move(thread_id);
  pending_.run_id = std::move(run_id);
  pending_.lease_epoch = lease_epoch;
}

void RunLog::Add(std::string kind, std::string json) {
  if (state_ == nullptr && !recording_) return;
  state::LogEntry entry{std::move(kind), std::move(json), UnixMicros()};
  if (recording_ && record_.size() < kRecordEntriesMax) record_.push_back(entry);
  if (state_ != nullptr) pending_.entries.push_back(std::move(entry));
}

void RunLog::AddMessage(const Message& message, std::string message_json, std::string_view node) {
  if (state_ == nullptr) return;  // exporters have no use for messages
  Add("message", MessageEntryJson(message, node));
  state::StoredMessage stored;
  stored.id = message.id;
  stored.json = std::move(message_json);
  pending_.messages.push_back(std::move(stored));
}

void RunLog::Place(std::string_view current_node, int64_t step, bool durable) {
  pending_.current_node = current_node;
  pending_.step = step;
  pending_.durable = durable;
}

Status RunLog::Flush(std::string_view current_node, int64_t step, bool durable) {
  if (state_ == nullptr) return Status::Ok();
  Place(current_node, step, durable);
  Result<state::AppendRunReply> reply = state_->Append(pending_);
  if (!reply.ok()) return reply.status();
  pending_.entries.clear();
  pending_.messages.clear();
  stop_requested_ = reply->stop_requested;
  return Status::Ok();
}

Status RunLog::Finish(state::Snapshot snapshot, std::string status, std::string_view current_node,
                      int64_t step, const std::string& thread_name) {
  if (state_ == nullptr) return Status::Ok();
  Place(current_node, step, true);
  state::FinishRun finish;
  finish.append = std::move(pending_);
  finish.snapshot = std::move(snapshot);
  finish.status = std::move(status);
  finish.thread_name = thread_name;
  finish.window_max = window_max_;
  Status result = state_->Finish(finish);
  pending_ = std::move(finish.append);
  pending_.entries.clear();
  pending_.messages.clear();
  return result;
}

}  // namespace agent_graph::run
