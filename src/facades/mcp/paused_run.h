// Runs that wait for an answer of the user, and the runs that bring it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/message.h"
#include "api/http/context.h"
#include "api/resources/run_request.h"
#include "base/status.h"

namespace agent_graph::mcp {

// The result of a call whose answer comes too late.
inline constexpr std::string_view kNoLongerWaits =
    "The agent no longer waits for this answer: it was given already, or the conversation has gone "
    "on without it.";

// True if this run has paused the thread, which is still paused, and no run is in flight. An answer
// to another pause could approve what the user has never seen. `run_id` is empty if an older build
// has asked, which did not note it. Suspends the calling fiber.
Result<bool> StillWaits(api::HandlerContext& context, const std::string& thread_id,
                        const std::string& run_id);

// The run with the answers to `run_id`. It does not wait for a run in flight, which has another
// answer. `messages` are those of AnswerMessages.
api::GraphRequest AnswerRun(const api::HandlerContext& context, const std::string& thread_id,
                            const std::string& run_id, std::vector<Message> messages);

}  // namespace agent_graph::mcp
