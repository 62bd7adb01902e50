// The members of a request that its response repeats. They are kept as a note in the run's log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"

namespace agent_graph::openai {

// Returns them as a JSON object. `body` was checked. `is_stored`: the response can be read later.
// `thread_id`: of the conversation that the request names; may be empty.
std::string RequestNote(const json& body, bool is_stored, const std::string& thread_id);

// The same for a run whose request is not known: it has not begun, or began on another route.
const std::string& UnknownRequestNote();

// How a response came to its thread.
enum class ResponseOrigin : uint8_t {
  kNewThread,     // the thread was made for it
  kResponse,      // it follows another response of the thread
  kConversation,  // its request named the thread, or was none for a response
};

// `note_json`: of a run of this thread; empty if it has none.
ResponseOrigin OriginOf(std::string_view note_json, const std::string& thread_id);

}  // namespace agent_graph::openai
