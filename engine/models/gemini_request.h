// The body of a request to Gemini's generateContent.
#pragma once

#include <string>

#include "base/status.h"
#include "models/model.h"

namespace agent_graph::models {

struct GeminiRequest {
  std::string body;
  bool stream = true;  // the address depends on it
};

// `parameters_json` is the provider's own; the request's beat it, and null removes one. Those that
// Gemini knows beside generationConfig pass through as they are, all others become part of it;
// `max_tokens` and `stop` are also understood.
Result<GeminiRequest> WriteGeminiRequest(const ModelRequest& request, const std::string& model,
                                         const std::string& parameters_json);

}  // namespace agent_graph::models
