// The parameters of a request that change how the agent's models answer.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent_graph/json_fwd.h"
#include "api/http/context.h"
#include "api/http/validation.h"
#include "models/call_options.h"

namespace agent_graph::openai {

// Both read a body whose fields were checked. Problems are added to `problems`. Null: the request
// changes nothing.
std::shared_ptr<const models::CallOptions> ReadChatOptions(const json& body,
                                                           api::Problems& problems);
std::shared_ptr<const models::CallOptions> ReadResponseOptions(const json& body,
                                                               api::Problems& problems);

// Returns the names of the tools that `tool_choice` allows; nullopt: all. `function_in`: the member
// of a choice, and of a tool, that has the name; null: itself. Reads a body whose fields were
// checked.
std::optional<std::set<std::string>> AllowedTools(const json& body, const char* function_in);

// Returns the refusal of a format that not all models of the agent can write, which `parameter`
// names; nullopt: they can.
std::optional<api::ErrorInfo> FindFormatProblem(const api::ApiContext& api,
                                                const models::CallOptions* options,
                                                const char* parameter);

}  // namespace agent_graph::openai
