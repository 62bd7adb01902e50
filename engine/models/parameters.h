// A provider's own parameters and those of one request.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/status.h"

namespace agent_graph::models {

// One object: the request's keys beat the provider's, null removes one. kModel when either text is
// no JSON object.
Result<nlohmann::json> MergeParameters(std::string_view provider_json,
                                       std::string_view request_json);
// The same over our own defaults, which both beat and may remove with null.
Result<nlohmann::json> MergeParameters(const nlohmann::json& defaults,
                                       std::string_view provider_json,
                                       std::string_view request_json);

}  // namespace agent_graph::models
