#include "facades/run/run_end.h"

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/own_json.h"

namespace agent_graph::facades {

std::optional<api::ErrorInfo> FailureOf(const api::RunEnd& end) {
  if (!end.reason.empty()) {
    return api::ErrorInfo{api::ApiError::kGone, "the thread was deleted", {}};
  }
  if (end.outcome != run::RunStatus::kError) return std::nullopt;
  return api::ErrorInfo{api::ApiError::kInternal, "the run failed", {}};
}

bool WaitsForTools(std::string_view interrupt_json) {
  const Result<json> interrupt = ParseJson(interrupt_json, kOwnJsonLimits);
  if (!interrupt.ok() || !interrupt->is_object()) return false;
  const json data = interrupt->value("data", json());
  return data.is_object() && data.contains("remote_tool_calls") && !data.contains("elicitations") &&
         !data.contains("undecided_tool_calls");
}

}  // namespace agent_graph::facades
