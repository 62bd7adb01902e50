#include "run/context/working_thread.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/check.h"
#include "base/own_json.h"
#include "message/codec.h"
#include "run/context/agent_state.h"
#include "state/limits.h"
#include "state/requests.h"

namespace agent_graph::run {
namespace {

Status TooLarge(const std::string& what, size_t bytes_max) {
  return Status(StatusCode::kGraph,
                what + " would be larger than " + std::to_string(bytes_max) + " bytes");
}

Status CheckSummary(const std::optional<std::string>& summary) {
  if (!summary || summary->size() <= state::kSummaryBytesMax) return Status::Ok();
  return TooLarge("the thread's summary", state::kSummaryBytesMax);
}

state::FieldEffect::Kind KindOf(graph::UpdateEffect::Kind kind) {
  switch (kind) {
    case graph::UpdateEffect::Kind::kAppend:
      return state::FieldEffect::Kind::kAppend;
    case graph::UpdateEffect::Kind::kMerge:
      return state::FieldEffect::Kind::kMerge;
    default:
      return state::FieldEffect::Kind::kReplace;
  }
}

}  // namespace

WorkingThread::WorkingThread(const graph::CompiledGraph& graph, std::string thread_id,
                             size_t bytes_max, RunLog& log, MessageIds ids)
    : graph_(graph),
      thread_id_(std::move(thread_id)),
      bytes_max_(bytes_max),
      log_(log),
      ids_(std::move(ids)) {}

Status WorkingThread::Admit(size_t bytes) {
  if (message_bytes_ + fields_bytes_ + bytes <= bytes_max_) return Status::Ok();
  return Status(StatusCode::kGraph, "the run would hold more than " + std::to_string(bytes_max_) +
                                        " bytes of messages and state (limits.run_bytes_max)");
}

// Replaced values are counted in addition until the limit is reached; then the exact size is
// computed.
Status WorkingThread::AdmitCounted(size_t bytes) {
  if (!Admit(bytes).ok()) RecountFields();
  return Admit(bytes);
}

void WorkingThread::RecountFields() {
  const std::string text = DumpJson(state_->fields());
  fields_bytes_ = text.size();
  fields_structure_ = JsonWeight(text).structure();
}

Status WorkingThread::ChangeFields(size_t bytes, const std::function<Status(State&)>& change) {
  AG_RETURN_IF_ERROR(AdmitCounted(bytes));
  fields_bytes_ += bytes;
  if (fields_bytes_ <= state::kFieldsBytesMax) return change(*state_);
  // The estimate may be too high, because replaced values are counted in addition.
  json before = state_->fields();
  AG_RETURN_IF_ERROR(change(*state_));
  RecountFields();
  if (fields_bytes_ <= state::kFieldsBytesMax) return Status::Ok();
  state_->mutable_fields() = std::move(before);
  return TooLarge("the thread's fields", state::kFieldsBytesMax);
}

Status WorkingThread::Load(state::ThreadState&& loaded, std::vector<Message> decoded) {
  AG_CHECK(decoded.empty() || decoded.size() == loaded.window.size(),
           "a window is decoded completely or not at all");
  if (decoded.empty()) {
    // A turn mostly adds the user's message and one answer.
    loaded.window.reserve(loaded.window.size() + 2);
    decoded.reserve(loaded.window.size() + 2);
    for (const state::StoredMessage& stored : loaded.window) {
      AG_ASSIGN_OR_RETURN(decoded.emplace_back(), message::FromJsonText(stored.json));
    }
  }
  for (const state::StoredMessage& stored : loaded.window) message_bytes_ += stored.json.size();
  stored_ = std::move(loaded.window);
  state_->mutable_messages() = std::move(decoded);
  fields_bytes_ = loaded.snapshot.fields_json.size();
  fields_structure_ = JsonWeight(loaded.snapshot.fields_json).structure();
  AG_RETURN_IF_ERROR(Admit(0));
  state_->set_summary(loaded.snapshot.summary);
  Result<json> fields = ParseJson(loaded.snapshot.fields_json, kOwnJsonLimits);
  if (!fields.ok() || !fields->is_object()) {
    return Status(StatusCode::kDataLoss, "the thread's stored state cannot be read");
  }
  for (const StateField& field : graph_.fields()) {
    if (!fields->contains(field.name)) unstored_fields_.insert(field.name);
  }
  state_->mutable_fields() = std::move(*fields);
  graph_.AddMissingFields(*state_);
  loaded_ = true;
  return Status::Ok();
}

Status WorkingThread::Apply(const InitialState& initial, std::vector<Message> context) {
  AG_RETURN_IF_ERROR(Set(initial));
  for (Message& message : context) {
    // A client may send messages back that it has read before.
    ReserveLoaded(message.id);
    if (!message.id.empty() && ids_.IsTaken(message.id)) continue;
    AG_RETURN_IF_ERROR(Append(std::move(message), "").status());
  }
  return Status::Ok();
}

Status WorkingThread::Set(const InitialState& initial) {
  state::StateEffect effect;
  const uint64_t position = log_.next_entry();
  if (initial.fields) {
    size_t bytes = 0;
    for (const auto& [name, value] : initial.fields->items()) {
      std::string text = DumpJson(value);
      bytes += DumpJson(json(name)).size() + text.size() + 2;
      fields_structure_ += JsonWeight(text).structure();
      if (graph::IsBuiltInField(name)) continue;
      effect.fields.push_back({.name = name, .value_json = std::move(text), .position = position});
    }
    AG_RETURN_IF_ERROR(ChangeFields(
        bytes, [&](State& state) { return graph_.SetFields(*initial.fields, state); }));
    for (const state::FieldEffect& field : effect.fields) {
      changed_fields_[field.name] = position;
      unstored_fields_.erase(field.name);
    }
  }
  if (initial.summary_present) {
    AG_RETURN_IF_ERROR(CheckSummary(initial.summary));
    state_->set_summary(initial.summary);
    summary_changed_ = position;
    effect.summary_changed = true;
    effect.summary = initial.summary;
    effect.summary_position = position;
  }
  if (!effect.fields.empty() || effect.summary_changed) {
    log_.Add(entry::StateSet{std::move(effect)});
  }
  return Status::Ok();
}

DecodedWindow WorkingThread::TakeWindow() {
  if (state_.use_count() > 1) return {};
  return {.stored = std::move(stored_), .messages = std::move(state_->mutable_messages())};
}

void WorkingThread::Detach() {
  state_ = std::make_shared<State>(*state_);
}

Result<std::string_view> WorkingThread::Append(Message message, std::string_view node) {
  ReserveLoaded(message.id);
  AG_RETURN_IF_ERROR(ids_.AssignToRequested(message));
  std::string text = message::ToJsonText(message);
  AG_RETURN_IF_ERROR(Admit(text.size()));
  Add(std::move(message), std::move(text), node);
  return std::string_view(stored_.back().json);
}

// Ids that the engine has generated need no lookup, and most runs add no other messages.
void WorkingThread::ReserveLoaded(const std::string& wanted) {
  if (wanted.empty() || ids_.IsAnnounced(wanted)) return;
  if (std::exchange(reserved_loaded_, true)) return;
  for (const state::StoredMessage& stored : stored_) {
    if (stored.sequence > 0) ids_.Reserve(stored.id);
  }
}

void WorkingThread::Add(Message message, std::string text, std::string_view node) {
  message_bytes_ += text.size();
  stored_.push_back({.id = message.id, .sequence = 0, .json = std::move(text)});
  log_.AddMessage(message, stored_.back().json, node);
  state_->mutable_messages().push_back(std::move(message));
}

Status WorkingThread::AppendAll(std::vector<Message> messages) {
  for (Message& message : messages) {
    AG_RETURN_IF_ERROR(Append(std::move(message), "").status());
  }
  return Status::Ok();
}

void WorkingThread::Forget(size_t count) {
  auto& messages = state_->mutable_messages();
  for (size_t i = 0; i < count; ++i) {
    // Identified by sequence numbers, because others may have added messages during the run.
    if (stored_[i].sequence > 0) {
      forgotten_.through = std::max(forgotten_.through, stored_[i].sequence);
    } else {
      forgotten_.ids.push_back(messages[i].id);
    }
    message_bytes_ -= stored_[i].json.size();
  }
  messages.erase(messages.begin(), messages.begin() + static_cast<ptrdiff_t>(count));
  stored_.erase(stored_.begin(), stored_.begin() + static_cast<ptrdiff_t>(count));
}

Result<std::span<const state::StoredMessage>> WorkingThread::TakeIn(NodeResult& result,
                                                                    std::string_view node) {
  std::vector<std::string> texts;
  texts.reserve(result.messages.size());
  size_t bytes = 0;
  for (Message& message : result.messages) {
    ReserveLoaded(message.id);
    ids_.Assign(message);
    texts.push_back(message::ToJsonText(message));
    bytes += texts.back().size();
  }
  AG_RETURN_IF_ERROR(Update(result, bytes, node));
  first_taken_in_ = log_.next_entry();
  for (size_t i = 0; i < texts.size(); ++i) {
    Add(std::move(result.messages[i]), std::move(texts[i]), node);
  }
  if (log_.wants_complete_effect()) LogAllChanges();
  return std::span<const state::StoredMessage>(stored_).last(texts.size());
}

Status WorkingThread::Update(NodeResult& result, size_t beside, std::string_view node) {
  if (result.updates.empty() && !result.summary) return AdmitCounted(beside);
  size_t bytes = 0;
  for (const auto& update : result.updates) {
    bytes += update.name.size() + update.value_json.size();
    fields_structure_ += JsonWeight(update.value_json).structure();
  }
  AG_RETURN_IF_ERROR(CheckSummary(result.summary));
  AG_RETURN_IF_ERROR(AdmitCounted(bytes + beside));
  std::vector<graph::UpdateEffect> effects;
  AG_RETURN_IF_ERROR(ChangeFields(
      bytes, [&](State& state) { return graph_.ApplyUpdates(result.updates, state, &effects); }));
  for (const auto& update : result.updates) changed_fields_[update.name] = log_.next_entry();
  if (result.summary) {
    state_->set_summary(result.summary);
    summary_changed_ = log_.next_entry();
  }
  LogUpdate(result, std::move(effects), node);
  return Status::Ok();
}

void WorkingThread::LogUpdate(NodeResult& result, std::vector<graph::UpdateEffect> effects,
                              std::string_view node) {
  const uint64_t position = log_.next_entry();
  state::StateEffect all{.summary_changed = result.summary.has_value(),
                         .summary = result.summary,
                         .summary_position = position};
  all.fields.reserve(effects.size());
  for (size_t i = 0; i < effects.size(); ++i) {
    const FieldUpdate& update = result.updates[i];
    graph::UpdateEffect& effect = effects[i];
    state::FieldEffect& field = all.fields.emplace_back();
    field = {update.name, KindOf(effect.kind), {}, effect.length, position};
    if (field.kind != state::FieldEffect::Kind::kReplace && unstored_fields_.contains(field.name)) {
      field.kind = state::FieldEffect::Kind::kReplace;
      field.value_json = DumpJson(state_->Field(field.name));
    } else {
      field.value_json =
          effect.value_json ? *std::move(effect.value_json) : std::string(update.value_json);
    }
  }
  if (!unstored_fields_.empty()) {
    for (const FieldUpdate& update : result.updates) unstored_fields_.erase(update.name);
  }
  log_.Add(entry::StateUpdate{.node = std::string(node),
                              .updates = std::move(result.updates),
                              .summary = std::move(result.summary),
                              .effect = std::move(all)});
}

void WorkingThread::LogAllChanges() {
  state::StateEffect all{.complete = true};
  for (const auto& [name, position] : changed_fields_) {
    all.fields.push_back(
        {.name = name, .value_json = DumpJson(state_->Field(name)), .position = position});
  }
  if (summary_changed_) {
    all.summary_changed = true;
    all.summary = state_->summary();
    all.summary_position = *summary_changed_;
  }
  log_.Add(entry::StateSet{std::move(all)});
}

state::FinishRunRequest WorkingThread::Finish(const ExecutionMeta& meta) const {
  state::FinishRunRequest finish;
  for (const auto& [name, entry] : changed_fields_) {
    finish.changed_fields.push_back(name);
    finish.changed_at.push_back(entry);
  }
  finish.summary_changed = summary_changed_.has_value();
  finish.summary_changed_at = summary_changed_.value_or(0);
  if (meta.interrupted()) finish.open_calls = OpenCalls();
  finish.state_unread = !loaded_;
  finish.forgotten = forgotten_;
  state::Snapshot& snapshot = finish.snapshot;
  snapshot.fields_json = DumpJson(state_->fields());
  snapshot.summary = state_->summary();
  snapshot.execution_json = meta.ToJson();
  snapshot.graph_name = graph_.name();
  snapshot.graph_hash = graph_.hash();
  return finish;
}

std::string WorkingThread::AgentState(const ExecutionMeta& meta, const LiveFlags& flags) const {
  AgentStateParts parts;
  parts.thread_id = thread_id_;
  parts.messages.reserve(stored_.size());
  for (const state::StoredMessage& stored : stored_) parts.messages.emplace_back(stored.json);
  parts.summary = &state_->summary();
  const std::string fields = DumpJson(state_->fields());
  parts.fields_json = fields;
  parts.execution = &meta;
  parts.flags = flags;
  return WriteAgentState(parts);
}

}  // namespace agent_graph::run
