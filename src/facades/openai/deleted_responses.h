// Responses that were deleted while their thread is kept, for other responses or as a conversation.
#pragma once

#include <string>
#include <string_view>

#include "api/http/context.h"
#include "base/status.h"
#include "facades/openai/request_note.h"
#include "state/runs.h"
#include "state/types.h"

namespace agent_graph::openai {

// A member of the thread's metadata: the ids of the deleted runs, with the names of their origins.
inline constexpr std::string_view kDeletedResponses = "deleted_responses";

// True if the thread's metadata says that this run's response was deleted.
bool IsDeleted(const state::ThreadRecord& thread, const std::string& run_id);

// Deletes the thread if it was made for a response and all of its runs are of deleted responses,
// none of which named it as a conversation; otherwise notes in the thread's metadata that this
// response is deleted. The run should have ended. Suspends the calling fiber.
Status RemoveResponse(api::HandlerContext& context, const state::RunRecord& run,
                      ResponseOrigin origin);

}  // namespace agent_graph::openai
