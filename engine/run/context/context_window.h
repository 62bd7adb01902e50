// Selects the part of a conversation that models see, by the graph's context policy.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agent_graph/graph.h"
#include "agent_graph/message.h"
#include "run/context/metered_model.h"
#include "run/run_environment.h"

namespace agent_graph::run {

// Estimates about one token per four bytes, and a fixed number for media. Use it for limits, not
// for billing.
size_t EstimateTokens(const Message& message);

// Returns the index of the first message to send. It is a user message, so that no tool result is
// separated from its call; 0 if there is none. The newest turn is always complete, whatever its
// size.
size_t FirstInContext(const std::vector<Message>& messages, const ContextPolicy& policy);

// Like FirstInContext, but for messages that leave the thread's working window. This is done in
// larger steps, so that summaries are rare: returns 0 while the policy's limit is not exceeded,
// otherwise about half of the limit remains.
size_t FirstToKeep(const std::vector<Message>& messages, const ContextPolicy& policy);

// Summarizes `messages` together with the previous summary `before`, which may be empty. The
// summary is the text of the reply; a reply without a usable one is a failure. Call on a fiber: it
// is suspended during the model call.
MeteredReply Summarize(const RunEnvironment& environment, const ContextPolicy& policy,
                       const std::string& before, const std::vector<Message>& messages);

}  // namespace agent_graph::run
