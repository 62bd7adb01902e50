// Responses that were deleted while their thread is kept, for other responses or as a conversation.
#pragma once

#include <string>

#include "api/http/context.h"
#include "base/status.h"
#include "state/runs.h"
#include "state/types.h"

namespace agent_graph::openai {

// True if the thread's metadata says that this run's response was deleted.
bool IsDeleted(const state::ThreadRecord& thread, const std::string& run_id);

// Deletes the thread if it was made for this response and nothing else uses it; otherwise notes in
// the thread's metadata that the response is deleted. A run in flight ends. `has_own_thread`: the
// request named no conversation.
Status RemoveResponse(api::HandlerContext& context, const state::RunRecord& run,
                      bool has_own_thread);

}  // namespace agent_graph::openai
