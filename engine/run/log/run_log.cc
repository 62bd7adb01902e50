#include "run/log/run_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "run/log/message_entry.h"
#include "run/log/run_record.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::run {
namespace {

// Size limit of one append; only its last item may exceed it.
constexpr size_t kAppendBytesMax = 16 * 1024 * 1024;
// As many entries as one node usually adds.
constexpr size_t kUsualEntries = 8;

size_t BytesOfMessage(const state::StoredMessage& message) {
  return message.json.size();
}

size_t BytesOfEntry(const state::LogEntry& entry) {
  size_t bytes = entry.json.size();
  if (!entry.effect) return bytes;
  for (const state::FieldEffect& field : entry.effect->fields) {
    bytes += field.name.size() + field.value_json.size();
  }
  return bytes + entry.effect->summary.value_or("").size();
}

template <typename Item>
std::vector<Item> TakePortion(std::vector<Item>& items, size_t (*bytes_of)(const Item&),
                              size_t& bytes) {
  auto end = items.begin();
  for (; end != items.end() && bytes < kAppendBytesMax; ++end) bytes += bytes_of(*end);
  if (end == items.end()) return std::exchange(items, {});
  std::vector<Item> portion(std::make_move_iterator(items.begin()), std::make_move_iterator(end));
  items.erase(items.begin(), end);
  return portion;
}

}  // namespace

RunLog::RunLog(state::Service* state, std::string thread_id, std::string run_id,
               uint64_t lease_epoch, bool record)
    : state_(state), recording_(record) {
  pending_.thread_id = std::move(thread_id);
  pending_.run_id = std::move(run_id);
  pending_.lease_epoch = lease_epoch;
  pending_.first_entry = 0;
  if (state_ != nullptr) pending_.entries.reserve(kUsualEntries);
}

void RunLog::Add(EntryBody body) {
  if (state_ == nullptr && !recording_) return;
  usage_.Count(body);
  state::LogEntry entry = Encode(std::move(body), UnixMicros());
  // Exporters need no values.
  if (recording_ && record_.size() < kRecordEntriesMax) {
    record_.push_back({entry.kind, entry.json, entry.micros});
  }
  if (state_ == nullptr) return;
  const size_t bytes = BytesOfEntry(entry);
  bytes_since_complete_ += bytes;
  if (entry.effect && entry.effect->complete) {
    bytes_since_complete_ = 0;
    complete_effect_after_ = std::max(kCompleteEffectAfter, kCompleteEffectFactor * bytes);
  }
  pending_.entries.push_back(std::move(entry));
}

void RunLog::AddMessage(const Message& message, std::string_view message_json,
                        std::string_view node) {
  if (state_ == nullptr) return;  // trace exporters do not need messages
  Add(MessageEntry(message, node));
  state::StoredMessage stored;
  stored.id = message.id;
  stored.json = message_json;
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
  for (bool more = true; more;) {
    state::AppendRunRequest append = Take();
    // Entries added during this call are appended by the next iteration.
    more = HasPending();
    Result<state::AppendRunReply> reply = state_->AppendRun(append);
    cut_off_ = reply.status().code() == StatusCode::kUnavailable;
    if (!reply.ok()) {
      PutBack(std::move(append));
      return reply.status();
    }
    stop_requested_ = reply->stop_requested;
  }
  return Status::Ok();
}

Status RunLog::MergeMetadata(std::string metadata_json, std::string_view current_node,
                             int64_t step) {
  if (state_ == nullptr) return Status::Ok();
  state::AppendRunRequest append;
  append.thread_id = pending_.thread_id;
  append.run_id = pending_.run_id;
  append.lease_epoch = pending_.lease_epoch;
  append.current_node = current_node;
  append.step = step;
  append.durable = true;
  append.metadata_json = std::move(metadata_json);
  AG_ASSIGN_OR_RETURN(const state::AppendRunReply reply, state_->AppendRun(append));
  stop_requested_ = reply.stop_requested;
  return Status::Ok();
}

state::AppendRunRequest RunLog::Take() {
  size_t bytes = 0;
  std::vector<state::StoredMessage> messages =
      TakePortion(pending_.messages, &BytesOfMessage, bytes);
  std::vector<state::LogEntry> entries = TakePortion(pending_.entries, &BytesOfEntry, bytes);
  // Move the rest out first, so that it is not copied.
  std::vector<state::StoredMessage> messages_left = std::exchange(pending_.messages, {});
  std::vector<state::LogEntry> entries_left = std::exchange(pending_.entries, {});
  state::AppendRunRequest append = pending_;
  if (append.first_entry) pending_.first_entry = *append.first_entry + entries.size();
  append.entries = std::move(entries);
  append.messages = std::move(messages);
  pending_.messages = std::move(messages_left);
  pending_.entries = std::move(entries_left);
  return append;
}

size_t RunLog::PendingBytes() const {
  size_t bytes = 0;
  for (const auto& message : pending_.messages) bytes += BytesOfMessage(message);
  for (const auto& entry : pending_.entries) bytes += BytesOfEntry(entry);
  return bytes;
}

void RunLog::PutBack(state::AppendRunRequest append) {
  const auto prepend = [](auto& before, auto& list) {
    before.insert(before.end(), std::make_move_iterator(list.begin()),
                  std::make_move_iterator(list.end()));
    list.swap(before);
  };
  pending_.first_entry = append.first_entry;
  prepend(append.entries, pending_.entries);
  prepend(append.messages, pending_.messages);
}

Status RunLog::Finish(state::FinishRunRequest&& finish, std::string_view current_node,
                      int64_t step) {
  if (state_ == nullptr) return Status::Ok();
  // Flush first so that the last portion and the snapshot fit into one frame. An error here is
  // ignored: the Finish below reports it, and releases the lease in any case.
  Place(current_node, step, false);
  while (PendingBytes() > kAppendBytesMax) {
    state::AppendRunRequest append = Take();
    if (state_->AppendRun(append).ok()) continue;
    PutBack(std::move(append));
    break;
  }
  Place(current_node, step, true);
  finish.usage_json = usage_.ToJson();
  finish.append = std::move(pending_);
  Status result = state_->FinishRun(finish);
  pending_ = std::move(finish.append);
  pending_.entries.clear();
  pending_.messages.clear();
  return result;
}

}  // namespace agent_graph::run
