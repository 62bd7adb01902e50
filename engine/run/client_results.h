// Results of tool calls that a client brings: those of remote tools, which it was asked to run.
#pragma once

#include <vector>

#include "agent_graph/message.h"
#include "base/status.h"
#include "run/open_inputs.h"
#include "state/types.h"

namespace agent_graph::run {

// Whether some of a request's messages are results.
bool BringResults(const std::vector<Message>& messages);

// Gives each result of `messages` its call: one of the calls without a result, in the thread's
// window or earlier in `messages`. A tool message of plain text answers the only such call that the
// user is not asked anything for. Answers to questions are moved into `inputs`.
// kInvalidArgument, with nothing changed for good, when a result answers none.
Status MatchResults(const std::vector<state::StoredMessage>& window, std::vector<Message>& messages,
                    OpenInputs& inputs);

// True if the thread has them all: a request that is sent again, whose results nobody waits for any
// more.
bool IsRepeated(const state::ThreadState& thread, const std::vector<Message>& messages);

}  // namespace agent_graph::run
