// Writes the body of a request to Anthropic's Messages API.
#pragma once

#include <string>

#include "base/status.h"
#include "models/model.h"

namespace agent_graph::models {

// Anthropic requires max_tokens; every current model allows this value.
inline constexpr int kAnthropicMaxTokens = 8192;

// `parameters_json` and `default_model` are the provider's settings; those of the request take
// precedence. Parameters are passed through unchanged, with two exceptions: `stop` is translated,
// and `tools` are placed before the tools of the request. null removes a parameter.
Result<std::string> AnthropicRequestJson(const ModelRequest& request,
                                         const std::string& default_model,
                                         const std::string& parameters_json);

}  // namespace agent_graph::models
