// The request of AG-UI.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "api/http/context.h"
#include "api/http/validation.h"
#include "api/resources/accepted_run.h"
#include "facades/agui/interrupts.h"
#include "run/run_request.h"

namespace agent_graph::agui {

// A request without its messages: which of them are new depends on the thread.
struct AgUiRequest {
  run::RunRequest run;
  api::RunTerms terms;
  std::string parent_run_id;
  bool is_current = false;  // the client knows the protocol's version 1.0
  std::vector<ResumeEntry> resume;
};

// Reads a body whose fields were checked. Problems are added to `problems`.
AgUiRequest ReadRequest(const api::HandlerContext& context, api::Problems& problems);

// The ids of the messages as the client lists them, without those of reasoning and activities.
std::vector<std::string> MessageIdsOf(const json& messages);

// True if there is a message behind the last one of the assistant, except for reasoning and
// activities.
bool HasTail(const json& messages);

// Returns the indices of the messages to add to a thread with the messages `window`. Messages of
// the client up to the last one that the thread has, or that the assistant wrote, are not new. The
// exception are results of tools that the thread lacks: a client lists results in the order of the
// calls, and those of the agent's own tools are known before the client has executed its own.
// Reasoning and activities behind the last answer are left out.
std::vector<size_t> NewMessages(const json& messages,
                                const std::vector<state::StoredMessage>& window);

}  // namespace agent_graph::agui
