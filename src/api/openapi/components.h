// The parts of the OpenAPI document that are not generated from tables: schemas of responses.
#pragma once

#include <string_view>

namespace agent_graph::api {

// A JSON object of JSON Schemas by name. Objects in responses may get additional members later.
extern const std::string_view kAnswerSchemas;
// Schemas that requests and responses share: messages and their blocks.
extern const std::string_view kMessageSchemas;
// Schemas of files, configuration and evaluations.
extern const std::string_view kFileSchemas;

}  // namespace agent_graph::api
