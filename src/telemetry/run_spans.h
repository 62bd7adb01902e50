// Converts a run to spans: the run, its nodes, and their model and tool calls, with names and
// attributes of OpenTelemetry's semantic conventions for generative AI. Contents of messages are
// not exported.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "run/log/run_record.h"
#include "telemetry/span.h"

namespace agent_graph::telemetry {

// Maps the name of a model in a graph to its provider and model.
struct ModelIdentity {
  std::string provider;  // name in the conventions: "openai", "anthropic", "gcp.gemini", ...
  std::string model;     // name that the provider uses
};
using ModelIdentities = std::map<std::string, ModelIdentity>;

// Returns the spans, the root span first. Empty if the request belongs to a trace that is not
// sampled.
std::vector<Span> SpansOf(const run::RunRecord& record, const ModelIdentities& models);

}  // namespace agent_graph::telemetry
