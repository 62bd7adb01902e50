// The parameters of a request that change how the agent's models answer.
#pragma once

#include <memory>
#include <optional>

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

// Returns the refusal of a format that not all models of the agent can write, which `parameter`
// names; nullopt: they can.
std::optional<api::ErrorInfo> FindFormatProblem(const api::ApiContext& api,
                                                const models::CallOptions* options,
                                                const char* parameter);

}  // namespace agent_graph::openai
