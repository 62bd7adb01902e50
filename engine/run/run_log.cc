#include "run/run_log.h"

#include <utility>

#include "base/clock.h"
#include "run/message_entry.h"
#include "state/service.h"

namespace agent_graph::run {

RunLog::RunLog(state::Service* state, std::string thread_id, std::string run_id,
               uint64_t lease_epoch)
    : state_(state) {
  pending_.thread_id = std::move(thread_id);
  pending_.run_id = std::move(run_id);
  pending_.lease_epoch = lease_epoch;
}

void RunLog::Add(std::string kind, std::string json) {
  if (state_ == nullptr) return;
  pending_.entries.push_back({std::move(kind), std::move(json), UnixMicros()});
}

void RunLog::AddMessage(const Message& message, std::string message_json, std::string_view node) {
  if (state_ == nullptr) return;
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
  Status result = state_->Finish(finish);
  pending_ = std::move(finish.append);
  pending_.entries.clear();
  pending_.messages.clear();
  return result;
}

}  // namespace agent_graph::run
