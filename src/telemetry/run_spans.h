// A run as spans: the run, its nodes, and the model and tool calls within them, named and described
// by OpenTelemetry's semantic conventions for generative AI. What was said is not exported.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "run/run_record.h"
#include "telemetry/span.h"

namespace agent_graph::telemetry {

// What a graph calls a model → who answers.
struct ModelIdentity {
  std::string provider;  // as the conventions name it: "openai", "anthropic", "gcp.gemini", ...
  std::string model;     // the provider's name of it
};
using ModelIdentities = std::map<std::string, ModelIdentity>;

// The root span first. Empty when the request's trace is one that nobody samples.
std::vector<Span> SpansOf(const run::RunRecord& record, const ModelIdentities& models);

}  // namespace agent_graph::telemetry
