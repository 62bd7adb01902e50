// Decoding of log entries.
#include <array>
#include <string_view>
#include <utility>

#include "agent_graph/json.h"
#include "base/own_json.h"
#include "run/log/json_object.h"
#include "run/log/log_entry.h"

namespace agent_graph::run {
namespace {

void Read(const ObjectReader& in, entry::RunStarted& started) {
  started = {in.Text("run_id"), in.Text("graph"), in.Text("graph_hash")};
}

void Read(const ObjectReader& in, entry::RunNote& note) {
  note = {in.OptionalJson("note").value_or("null")};
}

void Read(const ObjectReader& in, entry::MessagePiece& piece) {
  piece = {in.Text("node"),
           in.Number("step"),
           in.Text("message_id"),
           in.Number("text_begin"),
           in.Number("reasoning_begin"),
           in.Text("text"),
           in.Text("reasoning")};
}

void Read(const ObjectReader& in, entry::AttemptStarted& started) {
  started = {in.Text("run_id"), in.Number("attempt"), in.Text("graph"), in.Text("graph_hash")};
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

void Read(const ObjectReader& in, entry::ModelStarted& started) {
  started = {in.Text("node"), in.Text("message_id")};
}

void Read(const ObjectReader& in, entry::ModelFailed& failed) {
  failed = {in.Text("node"),
            in.Text("model_name"),
            in.Number("duration_micros"),
            in.Text("code"),
            in.Text("reason"),
            in.Number("input_tokens"),
            in.Number("output_tokens"),
            in.Number("cost_nano_usd")};
}

void Read(const ObjectReader& in, entry::ModelFinished& finished) {
  finished.node = in.Text("node");
  finished.model_name = in.Text("model_name");
  finished.duration_micros = in.Number("duration_micros");
  finished.stop_reason = in.Text("stop_reason");
  if (in.Find("model") == nullptr && in.Find("input_tokens") == nullptr) return;
  finished.reply = {in.Text("model"), in.Text("message_id"), in.Number("input_tokens"),
                    in.Number("output_tokens"), in.Number("cost_nano_usd")};
}

void Read(const ObjectReader& in, entry::ModelLost& lost) {
  lost = {in.Text("node"), in.Text("model_name"), in.Number("input_tokens"),
          in.Number("cost_nano_usd")};
}

void Read(const ObjectReader& /*in*/, entry::AttemptLeft& /*left*/) {}

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

}  // namespace agent_graph::run
