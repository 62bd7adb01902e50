// Names for conversation threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/message.h"
#include "run/run_environment.h"

namespace agent_graph::run {

inline constexpr size_t kThreadNameBytesMax = 200;

// Returns a random name such as "quiet-amber-otter".
std::string RandomThreadName();

// Returns the name that the service's generator gives the thread of these messages; empty if it
// returns none in time. The run's cancellation does not end the wait, because the thread of a
// stopped run needs a name, too.
std::string NameThread(const RunEnvironment& environment, const std::vector<Message>& messages);

// Returns one line without surrounding blanks, truncated at a character boundary.
std::string CleanThreadName(std::string_view name);

}  // namespace agent_graph::run
