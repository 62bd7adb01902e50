// Reads the thread id and the client's `config` in a request body.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"
#include "api/http/validation.h"

namespace agent_graph::api {

// Returns a thread id in JSON: a text, or an integer as text. nullopt for other types.
std::optional<std::string> ThreadIdText(const json& value);

// Returns `thread_id` of the body or of its `config`; empty if there is none. Two different ids are
// a problem. Other problems of the ids are reported by the route that reads them.
std::string BodyThreadId(const json& body, Problems& problems);

// Returns `thread_id` of a checked body in which it is required.
std::string OwnThreadId(const json& body);

// True for keys of `config` that only the server sets: `user`, `user_id`, `authz` and all names
// that start with an underscore.
bool IsReservedConfigKey(std::string_view key);
// Returns `config`, which may be null, without these keys.
json ClientConfig(const json* config);

}  // namespace agent_graph::api
