#include "api/resources/requested_run.h"

#include <optional>
#include <utility>

#include "api/resources/tool_decisions.h"
#include "api/resources/waiting_thread.h"

namespace agent_graph::api {

std::unique_ptr<RequestedRun> ReadRequestedRun(HandlerContext& context, Problems problems) {
  auto run = std::make_unique<RequestedRun>(
      RequestedRun{ReadGraphRequest(context, problems), ReadRunTerms(context, problems)});
  if (!problems.empty()) {
    context.Fail(std::move(problems).Error());
    return nullptr;
  }
  FindThreadOfResults(context, run->request.run);
  std::optional<ErrorInfo> error = ResolveFiles(context, run->request);
  if (!error) error = CheckToolDecisions(context, run->request.run);
  if (!error) return run;
  context.Fail(*error);
  return nullptr;
}

}  // namespace agent_graph::api
