// The members of a request that its response repeats. They are kept as a note in the run's log.
#pragma once

#include <string>

#include "agent_graph/json_fwd.h"

namespace agent_graph::openai {

// Returns them as a JSON object. `body` was checked. `is_stored`: the response can be read later.
// `thread_id`: of the conversation that the request names; may be empty.
std::string RequestNote(const json& body, bool is_stored, const std::string& thread_id);

// The same for a run whose request is not known: it has not begun, or began on another route.
const std::string& UnknownRequestNote();

}  // namespace agent_graph::openai
