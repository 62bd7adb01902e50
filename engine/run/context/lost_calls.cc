#include "run/context/lost_calls.h"

#include <optional>
#include <variant>

#include "run/log/log_entry.h"

namespace agent_graph::run {
namespace {

constexpr char kLostCallJson[] = R"({"error":"the run ended before this call had a result"})";
constexpr char kUnknownJson[] =
    R"({"error":"the run ended while this call was being made: whether it took effect is unknown"})";
constexpr char kLogLostJson[] =
    R"({"error":"the run ended and its log is incomplete: whether this call took effect is unknown"})";

}  // namespace

LostCalls::LostCalls(const std::vector<state::LogEntry>& entries) {
  for (const state::LogEntry& stored : entries) {
    if (const std::optional<EntryBody> body = Decode(stored)) Note(*body);
  }
}

void LostCalls::Note(const EntryBody& body) {
  const entry::CallRef* call = CallOf(body);
  if (call == nullptr || call->call_id.empty()) return;
  Fate& fate = fates_[call->call_id];
  if (const auto* intent = std::get_if<entry::ToolIntent>(&body)) {
    if (intent->idempotency_key != fate.idempotency_key) fate = Fate();
    fate.idempotency_key = intent->idempotency_key;
    fate.repeatable = intent->idempotent;
  }
  if (std::holds_alternative<entry::ToolPaused>(body)) fate.repeatable = true;
  const auto* finished = std::get_if<entry::ToolFinished>(&body);
  if (finished == nullptr || !finished->output_json) return;
  fate.finished = true;
  fate.is_error = finished->is_error;
  fate.output_json = *finished->output_json;
}

Message LostCalls::ResultOf(const std::string& call_id) const {
  const auto found = fates_.find(call_id);
  if (found == fates_.end()) {
    return Message::ToolResult(call_id, incomplete_ ? kLogLostJson : kLostCallJson, true);
  }
  const Fate& fate = found->second;
  if (!fate.finished) return Message::ToolResult(call_id, kUnknownJson, true);
  return Message::ToolResult(call_id, fate.output_json, fate.is_error);
}

std::optional<LostCalls::Settled> LostCalls::Settle(const std::string& call_id,
                                                    const std::string& idempotency_key) const {
  const auto found = fates_.find(call_id);
  if (found == fates_.end()) return std::nullopt;
  const Fate& fate = found->second;
  if (fate.idempotency_key != idempotency_key) return std::nullopt;
  Settled settled;
  if (fate.finished) {
    settled.result.json = fate.output_json;
    settled.result.is_error = fate.is_error;
    settled.is_known = true;
    return settled;
  }
  if (fate.repeatable) return std::nullopt;
  settled.result.json = kUnknownJson;
  settled.result.is_error = true;
  return settled;
}

}  // namespace agent_graph::run
