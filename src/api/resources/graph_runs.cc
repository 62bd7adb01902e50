// POST /v1/graph/runs: accepts a run and returns at once; a worker executes it in the background.
#include "api/resources/accepted_run.h"
#include "api/resources/handlers.h"
#include "api/resources/run_record.h"
#include "api/resources/run_request.h"
#include "api/resources/tool_decisions.h"
#include "api/resources/waiting_thread.h"

namespace agent_graph::api {

void StartRun(HandlerContext& context) {
  Problems problems;
  GraphRequest request = ReadGraphRequest(context, problems);
  RunTerms terms = ReadRunTerms(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  terms.cancelled_on_leave = false;  // there is no connection that it could end with
  FindThreadOfResults(context, request.run);
  if (auto error = ResolveFiles(context, request)) return context.Fail(*error);
  if (auto error = CheckToolDecisions(context, request.run)) return context.Fail(*error);
  AcceptedRun accepted;
  if (auto error = AcceptGraphRun(context, std::move(request), terms, accepted)) {
    return context.Fail(*error);
  }
  const state::RunRecord& run = accepted.run;
  context.Succeed(202, AcceptedRunJson(run),
                  {{"Location", RunStreamPath(context, run.thread_id, run.run_id)}});
}

}  // namespace agent_graph::api
