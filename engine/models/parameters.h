// Merges a provider's parameters with those of a request.
#pragma once

#include <span>
#include <string_view>

#include "agent_graph/json_fwd.h"
#include "base/status.h"
#include "models/model.h"

namespace agent_graph::models {

// Returns one object. Keys of the request take precedence, null removes a key. kModel if either
// text is not a JSON object.
Result<json> MergeParameters(std::string_view provider_json, std::string_view request_json);
// The same on top of our own defaults, which both may replace, or remove with null.
Result<json> MergeParameters(const json& defaults, std::string_view provider_json,
                             std::string_view request_json);

// Sets the parameters of the request's options that are among `known`, but keeps a max_tokens that
// is lower.
Status SetCallParameters(const ModelRequest& request, std::span<const std::string_view> known,
                         json& parameters);

}  // namespace agent_graph::models
