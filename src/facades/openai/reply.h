// Replies that several routes of the façade send.
#pragma once

#include <string>
#include <string_view>

#include "api/http/context.h"

namespace agent_graph::openai {

// Answers with a JSON text and ends the request.
void SendJson(api::HandlerContext& context, std::string json, bridge::HeaderList headers = {});

// The refusal of a model that is not the agent's name.
api::ErrorInfo UnknownModel(std::string_view wanted, std::string_view name);

}  // namespace agent_graph::openai
