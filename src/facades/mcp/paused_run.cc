#include "facades/mcp/paused_run.h"

#include <utility>

#include "api/http/request_memory.h"
#include "bridge/exchange.h"
#include "facades/mcp/agent_call.h"
#include "run/context/execution_meta.h"
#include "state/runs.h"
#include "state/service.h"

namespace agent_graph::mcp {

Result<bool> StillWaits(api::HandlerContext& context, const std::string& thread_id,
                        const std::string& run_id) {
  const uint64_t held_before = context.exchange().held_bytes();
  const Result<state::ThreadState> thread =
      api::ReadThreadState(context.exchange(), context.state(), context.caller().scope, thread_id);
  context.exchange().Hold(held_before);
  if (thread.status().code() == StatusCode::kNotFound) return false;
  AG_RETURN_IF_ERROR(thread.status());
  const bool is_paused =
      !thread->in_flight &&
      run::ExecutionMeta::FromJson(thread->snapshot.execution_json).interrupted();
  if (!is_paused) return false;
  // Clients may bring the states that an older build has sealed for 24 hours after an upgrade.
  if (run_id.empty()) return true;
  // Later runs may have failed before they began, such as one with an answer that does not fit. The
  // thread is still paused then.
  state::ListRunsRequest pauses;
  pauses.scope = context.caller().scope;
  pauses.thread_id = thread_id;
  pauses.run_state = state::RunState::kInterrupted;
  pauses.limit = 1;
  AG_ASSIGN_OR_RETURN(const state::RunPage latest, context.state().ListRuns(pauses));
  return !latest.runs.empty() && latest.runs.front().run_id == run_id;
}

api::GraphRequest AnswerRun(const api::HandlerContext& context, const std::string& thread_id,
                            const std::string& run_id, std::vector<Message> messages) {
  // If the same answer is given twice at the same time, the thread recognises the second one.
  if (!run_id.empty() && messages.size() == 1 && messages[0].role == Role::kUser) {
    messages[0].id = "answer-" + run_id;
  }
  api::GraphRequest request = AgentRun(context, thread_id, std::move(messages));
  request.run.on_busy = run::BusyPolicy::kReject;
  return request;
}

}  // namespace agent_graph::mcp
