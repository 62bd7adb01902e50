#include "run/context/lost_calls.h"

#include "agent_graph/json.h"
#include "base/own_json.h"

namespace agent_graph::run {
namespace {

constexpr char kLostCallJson[] = R"({"error":"the run ended before this call had a result"})";
constexpr char kUnknownJson[] =
    R"({"error":"the run ended while this call was being made: whether it took effect is unknown"})";

}  // namespace

LostCalls::LostCalls(const std::vector<state::LogEntry>& entries) {
  for (const state::LogEntry& entry : entries) {
    if (!entry.kind.starts_with("tool_")) continue;
    const Result<json> fields = ParseJson(entry.json, kOwnJsonLimits);
    if (!fields.ok() || !fields->is_object()) continue;
    const auto id = fields->find("call_id");
    if (id == fields->end() || !id->is_string()) continue;
    Fate& fate = fates_[id->get<std::string>()];
    fate.intended = true;
    if (entry.kind != "tool_finished") continue;
    const auto output = fields->find("output");
    if (output == fields->end()) continue;
    fate.finished = true;
    fate.is_error = fields->value("is_error", json()) == true;
    fate.output_json = DumpJson(*output);
  }
}

Message LostCalls::ResultOf(const std::string& call_id) const {
  const auto found = fates_.find(call_id);
  if (found == fates_.end()) return Message::ToolResult(call_id, kLostCallJson, true);
  const Fate& fate = found->second;
  if (!fate.finished) return Message::ToolResult(call_id, kUnknownJson, true);
  return Message::ToolResult(call_id, fate.output_json, fate.is_error);
}

}  // namespace agent_graph::run
