// Paused threads: the tool calls that the next run needs results of.
#pragma once

#include <string>
#include <vector>

#include "state/requests.h"
#include "state/types.h"

namespace agent_graph::state {

// Reduces the execution meta of a paused thread to the open calls in `open`: only these are still
// listed for its client. If `open` is empty, the thread is no longer paused.
std::string NarrowPause(const std::string& execution, const std::vector<std::string>& open);

// True for the execution meta of a thread that the next run resumes.
bool IsPaused(const std::string& execution);

std::vector<std::string> IdsOf(const std::vector<OpenCall>& calls);
// Returns the ids of the calls that can be looked up, each once: those that were handed to the
// client.
std::vector<std::string> WaitingCallIds(const std::vector<OpenCall>& calls);

// A message was stored in a paused thread's window: removes the calls that it answers, or that can
// no longer be answered because of it. `is_new`: it did not replace a stored message.
void TakeIntoPause(const StoredMessage& message, bool is_new, std::vector<OpenCall>& open);

}  // namespace agent_graph::state
