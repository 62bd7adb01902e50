// The parts of the OpenAPI document that are not generated from tables: schemas of responses.
#pragma once

#include <string_view>

namespace agent_graph::api {

// Each is a JSON object of JSON Schemas by name. Objects in responses may get more members later.
extern const std::string_view kMessageSchemas;   // messages and their blocks, also in requests
extern const std::string_view kEnvelopeSchemas;  // envelopes and simple results
extern const std::string_view kGraphSchemas;     // the graph, its runs and their state
extern const std::string_view kRunSchemas;       // runs that the state keeps
extern const std::string_view kThreadSchemas;
extern const std::string_view kMemorySchemas;
extern const std::string_view kFileSchemas;  // files, configuration and evaluations

}  // namespace agent_graph::api
