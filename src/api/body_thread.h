// Reads the thread id in a request body.
#pragma once

#include <optional>
#include <string>

#include "agent_graph/json_fwd.h"
#include "api/validation.h"

namespace agent_graph::api {

// Returns a thread id in JSON: a text, or an integer as text. nullopt for other types.
std::optional<std::string> ThreadIdText(const json& value);

// Returns `thread_id` of the body or of its `config`; empty if there is none. Two different ids are
// a problem. Other problems of the ids are reported by the route that reads them.
std::string BodyThreadId(const json& body, Problems& problems);

// Returns `thread_id` of a checked body in which it is required.
std::string OwnThreadId(const json& body);

}  // namespace agent_graph::api
