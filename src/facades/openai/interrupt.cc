#include "facades/openai/interrupt.h"

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/own_json.h"

namespace agent_graph::openai {

std::string QuestionOf(const std::string& interrupt_json) {
  if (interrupt_json.empty()) return "";
  const Result<json> interrupt = ParseJson(interrupt_json, kOwnJsonLimits);
  if (!interrupt.ok() || !interrupt->is_object()) return "";
  const auto data = interrupt->find("data");
  const bool has_calls =
      data != interrupt->end() && data->is_object() && data->contains("remote_tool_calls");
  if (has_calls && !data->contains("elicitations")) return "";
  return interrupt_json;
}

}  // namespace agent_graph::openai
