// What of a conversation the models see, by the graph's context policy.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agent_graph/graph.h"
#include "agent_graph/message.h"
#include "base/status.h"
#include "run/run_environment.h"

namespace agent_graph::run {

// About four bytes each, and a flat count for what is not text. Meant for budgets, not for bills.
size_t EstimateTokens(const Message& message);

// Index of the first message that a policy leaves in: a message of the user, so that no tool result
// is cut off from its call. All of the newest turn stays, whatever its size.
size_t FirstInContext(const std::vector<Message>& messages, const ContextPolicy& policy);

// The same for what leaves the thread's working window, which is done in larger steps, so that a
// summary is seldom made: 0 while the policy leaves everything in, then about half of it stays.
size_t FirstToKeep(const std::vector<Message>& messages, const ContextPolicy& policy);

// The summary of `messages` and of what was summarized before, which may be empty. On a fiber.
Result<std::string> Summarize(const RunEnvironment& environment, const ContextPolicy& policy,
                              const std::string& before, const std::vector<Message>& messages);

}  // namespace agent_graph::run
