#include "run/log/log_entry.h"

#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

#include "agent_graph/json.h"
#include "base/check.h"
#include "base/own_json.h"
#include "run/log/json_object.h"

namespace agent_graph::run {
namespace {

// --- encoding: the order of the members is part of the stored format --------------------------

std::string ToJson(const entry::RunStarted& started) {
  return ObjectWriter()
      .Text("run_id", started.run_id)
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

std::string ToJson(const entry::ModelFailed& failed) {
  return ObjectWriter()
      .Text("node", failed.node)
      .Text("model_name", failed.model_name)
      .Number("duration_micros", failed.duration_micros)
      .Text("code", failed.code)
      .Text("reason", failed.reason)
      .Finish();
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
  }
  return out.Finish();
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

// --- decoding ---------------------------------------------------------------------------------

void Read(const ObjectReader& in, entry::RunStarted& started) {
  started = {in.Text("run_id"), in.Text("graph"), in.Text("graph_hash")};
}

void Read(const ObjectReader& in, entry::NodeStarted& started) {
  started = {in.Text("node"), in.Number("step")};
}

void Read(const ObjectReader& in, entry::NodeFinished& finished) {
  finished = {in.Text("node"), in.Number("step")};
}

void Read(const ObjectReader& in, entry::NodeRetry& retry) {
  retry = {in.Text("node"), in.Number("attempt"), in.Text("reason")};
}

void Read(const ObjectReader& in, entry::MessageAdded& message) {
  message.message_id = in.Text("message_id");
  message.node = in.Text("node");
  message.role = in.Text("role");
  message.blocks = in.Texts("blocks");
  message.tools = in.Texts("tools");
  message.model = in.OptionalText("model");
  const json* usage = in.Find("usage");
  if (usage == nullptr || !usage->is_object()) return;
  const ObjectReader counts(*usage);
  message.usage.emplace();
  message.usage->prompt_tokens = counts.Number("prompt");
  message.usage->completion_tokens = counts.Number("completion");
  message.usage->reasoning_tokens = counts.Number("reasoning");
  message.usage->total_tokens = counts.Number("total");
}

void Read(const ObjectReader& in, entry::StateUpdate& update) {
  update.node = in.Text("node");
  if (in.Find("summary") != nullptr) update.summary = in.Text("summary");
  const json* updates = in.Find("updates");
  if (updates == nullptr || !updates->is_array()) return;
  for (const json& item : *updates) {
    FieldUpdate& field = update.updates.emplace_back();
    if (!item.is_object()) continue;
    const ObjectReader member(item);
    field = {member.Text("field"), member.OptionalJson("value").value_or("")};
  }
}

void Read(const ObjectReader& /*in*/, entry::StateSet& /*set*/) {}

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

void RestoreEffect(const state::StateEffect& effect, EntryBody& body) {
  if (auto* set = std::get_if<entry::StateSet>(&body)) set->effect = effect;
  auto* update = std::get_if<entry::StateUpdate>(&body);
  if (update == nullptr || effect.fields.size() != update->updates.size()) return;
  update->effect = effect;
  if (effect.summary_changed) update->summary = effect.summary;
  for (size_t i = 0; i < effect.fields.size(); ++i) {
    std::string& value_json = update->updates[i].value_json;
    if (value_json.empty()) value_json = effect.fields[i].value_json;
  }
}

entry::CallRef ReadCall(const ObjectReader& in) {
  return {in.Text("node"), in.Text("tool"), in.Text("call_id")};
}

entry::CallTime ReadTime(const ObjectReader& in) {
  return {in.Number("micros"), in.Number("duration_micros")};
}

void Read(const ObjectReader& in, entry::ToolIntent& intent) {
  intent = {ReadCall(in), in.Text("idempotency_key"), in.Flag("remote"), in.Flag("idempotent")};
}

void Read(const ObjectReader& in, entry::ToolStarted& started) {
  started = {ReadCall(in), in.Number("micros")};
}

void Read(const ObjectReader& in, entry::ToolFinished& finished) {
  finished.call = ReadCall(in);
  finished.is_error = in.Flag("is_error");
  if (in.Find("micros") != nullptr) finished.time = ReadTime(in);
  finished.output_json = in.OptionalJson("output");
}

void Read(const ObjectReader& in, entry::ToolPaused& paused) {
  paused = {ReadCall(in), ReadTime(in), in.Number("questions")};
}

void Read(const ObjectReader& in, entry::ModelFailed& failed) {
  failed = {in.Text("node"), in.Text("model_name"), in.Number("duration_micros"), in.Text("code"),
            in.Text("reason")};
}

void Read(const ObjectReader& in, entry::ModelFinished& finished) {
  finished.node = in.Text("node");
  finished.model_name = in.Text("model_name");
  finished.duration_micros = in.Number("duration_micros");
  finished.stop_reason = in.Text("stop_reason");
  if (in.Find("model") == nullptr && in.Find("input_tokens") == nullptr) return;
  finished.reply = {in.Text("model"), in.Text("message_id"), in.Number("input_tokens"),
                    in.Number("output_tokens")};
}

void Read(const ObjectReader& in, entry::ContextTrimmed& trimmed) {
  trimmed = {in.Number("messages")};
}

void Read(const ObjectReader& in, entry::Interrupted& interrupted) {
  interrupted = {in.Text("node"), in.Text("status"), in.Text("reason"),
                 in.OptionalJson("data").value_or("null")};
}

void Read(const ObjectReader& in, entry::RunFailed& failed) {
  failed = {in.Text("code"), in.Text("reason"), in.Text("node"), in.Number("step")};
}

void Read(const ObjectReader& in, entry::RunFinished& finished) {
  finished = {in.Text("run_id"), ParseRunStatus(in.Text("status")).value_or(RunStatus::kDone),
              in.Text("reason")};
}

template <typename Entry>
EntryBody ReadAs(const ObjectReader& in) {
  Entry body;
  Read(in, body);
  return body;
}

struct Decoder {
  std::string_view kind;
  EntryBody (*read)(const ObjectReader& in);
};

// Unknown is the last alternative and has no decoder.
template <size_t... kIndices>
constexpr auto MakeDecoders(std::index_sequence<kIndices...>) {
  return std::array{Decoder{std::variant_alternative_t<kIndices, EntryBody>::kKind,
                            &ReadAs<std::variant_alternative_t<kIndices, EntryBody>>}...};
}

constexpr auto kDecoders =
    MakeDecoders(std::make_index_sequence<std::variant_size_v<EntryBody> - 1>());

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

std::optional<EntryBody> Decode(const state::LogEntry& stored) {
  const Result<json> object = ParseJson(stored.json, kOwnJsonLimits);
  if (!object.ok() || !object->is_object()) return std::nullopt;
  const ObjectReader in(*object);
  for (const Decoder& decoder : kDecoders) {
    if (decoder.kind != stored.kind) continue;
    EntryBody body = decoder.read(in);
    if (stored.effect) RestoreEffect(*stored.effect, body);
    return body;
  }
  return entry::Unknown{stored.kind, in.Text("node")};
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
