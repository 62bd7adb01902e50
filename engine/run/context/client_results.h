// Tool results that a client sends: those of remote tools, which the client executes.
#pragma once

#include <vector>

#include "agent_graph/message.h"
#include "base/status.h"
#include "run/context/open_inputs.h"
#include "state/types.h"

namespace agent_graph::run {

// True if some of a request's messages contain tool results.
bool BringResults(const std::vector<Message>& messages);

// Assigns each result in `messages` to a call without a result, in the thread's window or earlier
// in `messages`. A tool message of plain text answers the only open call that does not ask the
// user. Answers to questions are moved to `inputs`. Returns kInvalidArgument if a result matches no
// call; then discard `messages` and `inputs`.
Status MatchResults(const std::vector<state::StoredMessage>& window, std::vector<Message>& messages,
                    OpenInputs& inputs);

// True if the thread already has all these results: a repeated request, for which no call waits any
// more.
bool IsRepeated(const state::ThreadState& thread, const std::vector<Message>& messages);

}  // namespace agent_graph::run
