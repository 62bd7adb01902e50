// The conversation thread that a body names.
#pragma once

#include <optional>
#include <string>

#include "agent_graph/json_fwd.h"
#include "api/validation.h"

namespace agent_graph::api {

// A thread id as JSON: text, or an integer's text. Nothing for any other type.
std::optional<std::string> ThreadIdText(const json& value);

// `thread_id` of the body or of its `config`; empty when neither names one. Two that differ are a
// problem. What else may be wrong with them is left to the route that reads them.
std::string BodyThreadId(const json& body, Problems& problems);

// `thread_id` of a checked body that cannot do without.
std::string OwnThreadId(const json& body);

}  // namespace agent_graph::api
