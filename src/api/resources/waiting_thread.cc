#include "api/resources/waiting_thread.h"
#include "state/requests.h"

#include <optional>
#include <string>
#include <utility>

namespace agent_graph::api {

void FindThreadOfResults(HandlerContext& context, run::RunRequest& request) {
  if (!request.thread_id.empty() || context.api().state == nullptr) return;
  state::WaitingThreadQuery query{context.caller().scope, {}};
  for (const Message& message : request.messages) {
    for (const ToolResultBlock* result : message.ToolResults()) {
      query.call_ids.push_back(result->call_id);
    }
  }
  if (query.call_ids.empty()) return;
  Result<state::WaitingThread> waiting = context.state().FindWaitingThread(query);
  if (!waiting.ok()) return;
  // A caller who may not use the thread gets the same answer as if it did not exist.
  if (context.CheckThread(context.route(), waiting->thread_id)) return;
  request.thread_id = std::move(waiting->thread_id);
}

}  // namespace agent_graph::api
