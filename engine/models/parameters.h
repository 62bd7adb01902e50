// A provider's own parameters and those of one request.
#pragma once

#include <string_view>

#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph::models {

// One object: the request's keys beat the provider's, null removes one. kModel when either text is
// no JSON object.
Result<json> MergeParameters(std::string_view provider_json, std::string_view request_json);
// The same over our own defaults, which both beat and may remove with null.
Result<json> MergeParameters(const json& defaults, std::string_view provider_json,
                             std::string_view request_json);

}  // namespace agent_graph::models
