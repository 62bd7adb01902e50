// Names for conversation threads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/message.h"
#include "run/run_environment.h"

namespace agent_graph::run {

inline constexpr size_t kThreadNameBytesMax = 200;

// "quiet-amber-otter": says nothing, but can be told from others.
std::string RandomThreadName();

// What the service's generator calls the thread of these messages; empty when it has no answer in
// time. The run's cancellation does not end the wait: a stopped run has a name, too.
std::string NameThread(const RunEnvironment& environment, const std::vector<Message>& messages);

// One line without blanks around it, cut at a whole character.
std::string CleanThreadName(std::string_view name);

}  // namespace agent_graph::run
