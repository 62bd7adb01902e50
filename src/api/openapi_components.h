// The parts of the OpenAPI document that no table holds: what answers look like.
#pragma once

#include <string_view>

namespace agent_graph::api {

// A JSON object of JSON Schemas by name. Objects in answers may get further members.
extern const std::string_view kAnswerSchemas;
// The same of what requests and answers share: messages and their blocks.
extern const std::string_view kMessageSchemas;
// Of files, configuration and evaluations.
extern const std::string_view kFileSchemas;

}  // namespace agent_graph::api
