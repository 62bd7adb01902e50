#include "api/resources/requested_run.h"

#include <optional>
#include <utility>

#include "api/resources/tool_decisions.h"
#include "api/resources/waiting_thread.h"

namespace agent_graph::api {

std::optional<ErrorInfo> ResolveRequest(HandlerContext& context, GraphRequest& request) {
  FindThreadOfResults(context, request.run);
  if (auto error = ResolveFiles(context, request)) return error;
  return CheckToolDecisions(context, request.run);
}

std::unique_ptr<RequestedRun> ReadRequestedRun(HandlerContext& context, Problems problems) {
  auto run = std::make_unique<RequestedRun>(
      RequestedRun{ReadGraphRequest(context, problems), ReadRunTerms(context, problems)});
  if (!problems.empty()) {
    context.Fail(std::move(problems).Error());
    return nullptr;
  }
  std::optional<ErrorInfo> error = FindRunOfKey(context, run->terms);
  if (!error && !run->terms.known) error = ResolveRequest(context, run->request);
  if (!error) return run;
  context.Fail(*error);
  return nullptr;
}

}  // namespace agent_graph::api
