// The body of an OpenAI-compatible chat completions request.
#pragma once

#include <string>

#include "base/status.h"
#include "models/model.h"

namespace agent_graph::models {

// `parameters_json` and `default_model` are the provider's own; the request's beat them. Parameters
// pass through as they are; null removes one, `"stream": false` included.
Result<std::string> ChatRequestJson(const ModelRequest& request, const std::string& default_model,
                                    const std::string& parameters_json);

}  // namespace agent_graph::models
