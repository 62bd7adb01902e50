// POST /v1/graph/runs: accepts a run and returns at once; a worker executes it in the background.
#include <utility>

#include "api/resources/accepted_run.h"
#include "api/resources/handlers.h"
#include "api/resources/requested_run.h"
#include "api/resources/run_record.h"

namespace agent_graph::api {

void StartRun(HandlerContext& context) {
  const std::unique_ptr<RequestedRun> requested = ReadRequestedRun(context);
  if (requested == nullptr) return;
  requested->terms.cancelled_on_leave = false;  // there is no connection that it could end with
  AcceptedRun accepted;
  if (auto error =
          AcceptGraphRun(context, std::move(requested->request), requested->terms, accepted)) {
    return context.Fail(*error);
  }
  const state::RunRecord& run = accepted.run;
  context.Succeed(202, AcceptedRunJson(run),
                  {{"Location", RunStreamPath(context, run.thread_id, run.run_id)}});
}

}  // namespace agent_graph::api
