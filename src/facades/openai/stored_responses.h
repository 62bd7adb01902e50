// Responses that can be read later. A response is a run of a thread that the state keeps.
#pragma once

#include <optional>
#include <string>

#include "agent_graph/message.h"
#include "api/http/context.h"
#include "base/status.h"
#include "facades/openai/object_ids.h"
#include "facades/openai/response_reader.h"
#include "run/run_request.h"
#include "state/runs.h"

namespace agent_graph::openai {

// All suspend the calling fiber.

// Finds a response that the caller may use. The error is the same for one that does not exist, that
// was deleted, and that belongs to another user.
std::optional<api::ErrorInfo> FindResponse(api::HandlerContext& context, const ResponseName& name,
                                           state::RunRecord& run);

// Reads the response as far as its run has come.
std::optional<api::ErrorInfo> ReadResponse(api::HandlerContext& context, const ResponseName& name,
                                           ResponseReader& reader);

// Options of a reader for a response of this service.
ResponseReaderOptions ReaderOptions(const api::HandlerContext& context);

// Returns a message that the caller may read; kNotFound otherwise.
Result<Message> FindItemMessage(api::HandlerContext& context, const ItemName& name);

// Lets the run follow a response: in its thread, if nothing has followed it there, else in a new
// thread with the conversation up to it.
std::optional<api::ErrorInfo> FollowResponse(api::HandlerContext& context,
                                             const ResponseName& previous, run::RunRequest& run);

}  // namespace agent_graph::openai
