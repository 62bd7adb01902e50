#include "run/log/log_entry.h"

#include <type_traits>
#include <utility>

#include "base/check.h"
#include "run/log/json_object.h"

namespace agent_graph::run {
namespace {

// The order of the members is part of the stored format.

std::string ToJson(const entry::RunStarted& started) {
  return ObjectWriter()
      .Text("run_id", started.run_id)
      .Text("graph", started.graph)
      .Text("graph_hash", started.graph_hash)
      .Finish();
}

std::string ToJson(const entry::RunNote& note) {
  return ObjectWriter().Json("note", note.note_json).Finish();
}

std::string ToJson(const entry::MessagePiece& piece) {
  ObjectWriter out;
  out.Text("node", piece.node).Number("step", piece.step).Text("message_id", piece.message_id);
  out.Number("text_begin", piece.text_begin).Number("reasoning_begin", piece.reasoning_begin);
  if (!piece.text.empty()) out.Text("text", piece.text);
  if (!piece.reasoning.empty()) out.Text("reasoning", piece.reasoning);
  return out.Finish();
}

std::string ToJson(const entry::AttemptStarted& started) {
  return ObjectWriter()
      .Text("run_id", started.run_id)
      .Number("attempt", started.attempt)
      .Text("graph", started.graph)
      .Text("graph_hash", started.graph_hash)
      .Finish();
}

std::string ToJson(const entry::NodeStarted& started) {
  return ObjectWriter().Text("node", started.node).Number("step", started.step).Finish();
}

std::string ToJson(const entry::NodeFinished& finished) {
  return ObjectWriter().Text("node", finished.node).Number("step", finished.step).Finish();
}

std::string ToJson(const entry::NodeRetry& retry) {
  return ObjectWriter()
      .Text("node", retry.node)
      .Number("attempt", retry.attempt)
      .Text("reason", retry.reason)
      .Finish();
}

std::string ToJson(const entry::MessageAdded& message) {
  ObjectWriter out;
  out.Text("message_id", message.message_id)
      .Text("node", message.node)
      .Text("role", message.role)
      .Texts("blocks", message.blocks);
  if (!message.tools.empty()) out.Texts("tools", message.tools);
  if (message.usage) {
    out.Json("usage", ObjectWriter()
                          .Number("prompt", message.usage->prompt_tokens)
                          .Number("completion", message.usage->completion_tokens)
                          .Number("reasoning", message.usage->reasoning_tokens)
                          .Number("total", message.usage->total_tokens)
                          .Finish());
    if (message.model) out.Text("model", *message.model);
  }
  return out.Finish();
}

// A value is stored once: not in the JSON if it is in the effect.
std::string ToJson(const entry::StateUpdate& update) {
  const state::StateEffect* effect = update.effect ? &*update.effect : nullptr;
  AG_CHECK(effect == nullptr || effect->fields.size() == update.updates.size(),
           "each update has its effect");
  ObjectWriter out;
  out.Text("node", update.node);
  std::string updates = "[";
  for (size_t i = 0; i < update.updates.size(); ++i) {
    const FieldUpdate& field = update.updates[i];
    if (updates.size() > 1) updates.push_back(',');
    ObjectWriter item;
    item.Text("field", field.name);
    if (effect == nullptr || effect->fields[i].value_json != field.value_json) {
      item.Json("value", field.value_json);
    }
    updates += item.Finish();
  }
  out.Json("updates", updates + "]");
  if (update.summary) out.Text("summary", effect == nullptr ? *update.summary : "");
  return out.Finish();
}

std::string ToJson(const entry::StateSet& set) {
  std::vector<std::string> names;
  names.reserve(set.effect.fields.size());
  for (const state::FieldEffect& field : set.effect.fields) names.push_back(field.name);
  ObjectWriter out;
  out.Texts("fields", names);
  if (set.effect.complete) out.Flag("complete", true);
  return out.Finish();
}

ObjectWriter CallWriter(const entry::CallRef& call) {
  ObjectWriter out;
  out.Text("node", call.node).Text("tool", call.tool).Text("call_id", call.call_id);
  return out;
}

std::string ToJson(const entry::ToolIntent& intent) {
  ObjectWriter out = CallWriter(intent.call);
  out.Text("idempotency_key", intent.idempotency_key);
  if (intent.remote) {
    out.Flag("remote", true);
  } else {
    out.Flag("idempotent", intent.idempotent);
  }
  return out.Finish();
}

std::string ToJson(const entry::ToolStarted& started) {
  return CallWriter(started.call).Number("micros", started.micros).Finish();
}

void WriteTime(const entry::CallTime& time, ObjectWriter& out) {
  out.Number("micros", time.finished_micros).Number("duration_micros", time.duration_micros);
}

std::string ToJson(const entry::ToolFinished& finished) {
  ObjectWriter out = CallWriter(finished.call);
  out.Flag("is_error", finished.is_error);
  if (finished.time) WriteTime(*finished.time, out);
  if (finished.output_json) out.Json("output", *finished.output_json);
  return out.Finish();
}

std::string ToJson(const entry::ToolPaused& paused) {
  ObjectWriter out = CallWriter(paused.call);
  WriteTime(paused.time, out);
  return out.Number("questions", paused.questions).Finish();
}

std::string ToJson(const entry::ModelStarted& started) {
  return ObjectWriter().Text("node", started.node).Text("message_id", started.message_id).Finish();
}

// Members for numbers that older builds do not know follow the others, and only if there are any.
void WriteCost(int64_t cost_nano_usd, ObjectWriter& out) {
  if (cost_nano_usd != 0) out.Number("cost_nano_usd", cost_nano_usd);
}

std::string ToJson(const entry::ModelFailed& failed) {
  ObjectWriter out;
  out.Text("node", failed.node)
      .Text("model_name", failed.model_name)
      .Number("duration_micros", failed.duration_micros)
      .Text("code", failed.code)
      .Text("reason", failed.reason);
  if (failed.input_tokens != 0 || failed.output_tokens != 0) {
    out.Number("input_tokens", failed.input_tokens).Number("output_tokens", failed.output_tokens);
  }
  WriteCost(failed.cost_nano_usd, out);
  return out.Finish();
}

std::string ToJson(const entry::ModelFinished& finished) {
  ObjectWriter out;
  out.Text("node", finished.node)
      .Text("model_name", finished.model_name)
      .Number("duration_micros", finished.duration_micros);
  if (finished.reply) out.Text("model", finished.reply->model);
  out.Text("stop_reason", finished.stop_reason);
  if (finished.reply) {
    out.Text("message_id", finished.reply->message_id)
        .Number("input_tokens", finished.reply->input_tokens)
        .Number("output_tokens", finished.reply->output_tokens);
    WriteCost(finished.reply->cost_nano_usd, out);
  }
  return out.Finish();
}

std::string ToJson(const entry::ModelLost& lost) {
  ObjectWriter out;
  out.Text("node", lost.node)
      .Text("model_name", lost.model_name)
      .Number("input_tokens", lost.input_tokens);
  WriteCost(lost.cost_nano_usd, out);
  return out.Finish();
}

std::string ToJson(const entry::AttemptLeft& /*left*/) {
  return ObjectWriter().Finish();
}

std::string ToJson(const entry::ContextTrimmed& trimmed) {
  return ObjectWriter().Number("messages", trimmed.messages).Finish();
}

std::string ToJson(const entry::Interrupted& interrupted) {
  return ObjectWriter()
      .Text("node", interrupted.node)
      .Text("status", interrupted.phase)
      .Text("reason", interrupted.reason)
      .Json("data", interrupted.data_json)
      .Finish();
}

std::string ToJson(const entry::RunFailed& failed) {
  return ObjectWriter()
      .Text("status", RunStatusName(RunStatus::kError))
      .Text("code", failed.code)
      .Text("reason", failed.reason)
      .Text("node", failed.node)
      .Number("step", failed.step)
      .Finish();
}

std::string ToJson(const entry::RunFinished& finished) {
  ObjectWriter out;
  out.Text("run_id", finished.run_id).Text("status", RunStatusName(finished.status));
  if (!finished.reason.empty()) out.Text("reason", finished.reason);
  return out.Finish();
}

// The effect of an entry is stored beside its JSON.
template <typename Entry>
std::optional<state::StateEffect> TakeEffect(Entry& /*entry*/) {
  return std::nullopt;
}
template <>
std::optional<state::StateEffect> TakeEffect(entry::StateUpdate& update) {
  return std::move(update.effect);
}
template <>
std::optional<state::StateEffect> TakeEffect(entry::StateSet& set) {
  return std::move(set.effect);
}

}  // namespace

state::LogEntry Encode(EntryBody body, int64_t micros) {
  return std::visit(
      [micros]<typename Entry>(Entry& value) -> state::LogEntry {
        if constexpr (std::is_same_v<Entry, entry::Unknown>) {
          AG_CHECK(false, "an entry of an unknown kind is not written");
          return {};
        } else {
          std::string json = ToJson(value);
          return {Entry::kKind, std::move(json), micros, TakeEffect(value)};
        }
      },
      body);
}

std::string NodeOf(const EntryBody& body) {
  if (const entry::CallRef* call = CallOf(body)) return call->node;
  return std::visit(
      [](const auto& value) -> std::string {
        if constexpr (requires { value.node; }) {
          return value.node;
        } else {
          return {};
        }
      },
      body);
}

const entry::CallRef* CallOf(const EntryBody& body) {
  return std::visit(
      [](const auto& value) -> const entry::CallRef* {
        if constexpr (requires { value.call; }) {
          return &value.call;
        } else {
          return nullptr;
        }
      },
      body);
}

}  // namespace agent_graph::run
