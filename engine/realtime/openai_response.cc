#include "realtime/openai_response.h"

#include <string>
#include <string_view>

#include "agent_graph/json.h"
#include "base/json.h"
#include "models/json_fields.h"

namespace agent_graph::realtime {

using models::JsonNode;
using models::ObjectAt;
using models::StringAt;

std::vector<ToolCall> CallsOf(const JsonNode& output) {
  std::vector<ToolCall> calls;
  for (const JsonNode& item : models::JsonItems(output)) {
    if (!item.is_object() || StringAt(item, "type") != "function_call") continue;
    ToolCall& call = calls.emplace_back();
    call.id = StringAt(item, "call_id");
    call.name = StringAt(item, "name");
    const std::string_view arguments = StringAt(item, "arguments");
    const Result<json> parsed = ParseJson(arguments);
    call.broken = !parsed.ok() || !parsed->is_object();  // an incomplete response truncates them
    if (!call.broken) call.arguments_json = arguments;
  }
  return calls;
}

Event FailureOf(const JsonNode& response) {
  const JsonNode* details = ObjectAt(response, "status_details");
  const JsonNode* error = details != nullptr ? ObjectAt(*details, "error") : nullptr;
  Event event{.kind = Event::Kind::kError, .text = "the model could not answer"};
  if (error != nullptr) {
    event.code = StringAt(*error, "code");
    if (event.code.empty()) event.code = StringAt(*error, "type");
    if (auto text = StringAt(*error, "message"); !text.empty()) event.text = text;
  }
  return event;
}

}  // namespace agent_graph::realtime
