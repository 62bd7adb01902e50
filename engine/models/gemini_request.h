// Writes the body of a request to Gemini's generateContent.
#pragma once

#include <string>

#include "base/status.h"
#include "models/model.h"

namespace agent_graph::models {

struct GeminiRequest {
  std::string body;
  bool stream = true;  // selects the URL
};

// `parameters_json` are the provider's settings; those of the request take precedence, and null
// removes one. Parameters that Gemini expects beside generationConfig are passed through, all
// others become part of it; `max_tokens` and `stop` are translated.
Result<GeminiRequest> WriteGeminiRequest(const ModelRequest& request, const std::string& model,
                                         const std::string& parameters_json);

}  // namespace agent_graph::models
