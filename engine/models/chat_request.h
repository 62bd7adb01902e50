// Writes the body of an OpenAI-compatible chat completions request.
#pragma once

#include <string>

#include "base/status.h"
#include "models/model.h"

namespace agent_graph::models {

// `parameters_json` and `default_model` are the provider's settings; those of the request take
// precedence. Parameters are passed through unchanged, including `"stream": false`; null removes
// one.
Result<std::string> ChatRequestJson(const ModelRequest& request, const std::string& default_model,
                                    const std::string& parameters_json);

}  // namespace agent_graph::models
