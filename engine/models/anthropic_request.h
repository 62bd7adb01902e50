// The body of a request to Anthropic's Messages API.
#pragma once

#include <string>

#include "base/status.h"
#include "models/model.h"

namespace agent_graph::models {

// What Anthropic demands to be told; every model of today allows as much.
inline constexpr int kAnthropicMaxTokens = 8192;

// `parameters_json` and `default_model` are the provider's own; the request's beat them. Parameters
// pass through as they are, save that `stop` is also understood and that tools among them come
// before the request's; null removes one.
Result<std::string> AnthropicRequestJson(const ModelRequest& request,
                                         const std::string& default_model,
                                         const std::string& parameters_json);

}  // namespace agent_graph::models
