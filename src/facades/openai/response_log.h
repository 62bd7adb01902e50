// Reads the log of a response's run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/http/context.h"
#include "facades/openai/request_note.h"
#include "state/runs.h"

namespace agent_graph::openai {

// All suspend the calling fiber and return the error to answer with. kGone: the log of the run is
// no longer kept.

// Reads how the response came to its thread. For a log that is not kept: kConversation.
std::optional<api::ErrorInfo> ReadOrigin(api::HandlerContext& context, const state::RunRecord& run,
                                         ResponseOrigin& origin);

// Reads the ids of the request's messages, which come before the run's own.
std::optional<api::ErrorInfo> ReadInputMessageIds(api::HandlerContext& context,
                                                  const state::RunRecord& run,
                                                  std::vector<std::string>& ids);

// Reads the id of the last message of the run; empty: it has none.
std::optional<api::ErrorInfo> ReadLastMessageId(api::HandlerContext& context,
                                                const state::RunRecord& run, std::string& id);

}  // namespace agent_graph::openai
