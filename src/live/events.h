// The events of WS /v1/graph/live: one JSON object each, with every key always present.
#pragma once

#include <string>
#include <string_view>

namespace agent_graph::live {

std::string InputTranscriptEvent(std::string_view text, bool finished);
std::string OutputTranscriptEvent(std::string_view text, bool finished);
// `args_json` is a JSON object.
std::string ToolCallEvent(std::string_view id, std::string_view name, std::string_view args_json);
// {"type":"tool_result","id":…,"result":{"result":…}}, the form that existing clients parse.
std::string ToolResultEvent(std::string_view id, std::string_view output_json);
std::string TurnCompleteEvent();
std::string InterruptedEvent();
std::string SessionUpdateEvent(std::string_view resumption_handle);
std::string GoAwayEvent(std::string_view time_left);
std::string AgentChangedEvent(std::string_view author);
// An empty code becomes null.
std::string ErrorEvent(std::string_view code, std::string_view message, bool fatal);

}  // namespace agent_graph::live
