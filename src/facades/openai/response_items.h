// The JSON of the parts that responses and their events consist of.
#pragma once

#include <string>
#include <string_view>

#include "agent_graph/message.h"
#include "api/http/errors.h"

namespace agent_graph::openai {

std::string TextPart(std::string_view text);
std::string SummaryPart(std::string_view text);

// Output items. `parts`: JSON texts with commas between them.
std::string MessageItem(std::string_view id, std::string_view status, std::string_view parts);
std::string ReasoningItem(std::string_view id, std::string_view status, std::string_view parts,
                          std::string_view encrypted);
std::string CallItem(std::string_view id, std::string_view status, const ToolCallBlock& call,
                     std::string_view arguments);

// `error` of a response that failed.
std::string ResponseErrorJson(const api::ErrorInfo& error);

}  // namespace agent_graph::openai
