// GET /v1/evals/runs and /v1/evals/runs/{run_id}: reports of evaluations.
#include <optional>

#include "api/http/context.h"
#include "api/resources/handlers.h"
#include "base/clock.h"
#include "evals/view.h"
#include "runtime/runtime.h"

namespace agent_graph::api {

void ListEvalRuns(HandlerContext& context) {
  std::string data;
  context.api().runtime->RunOnIoPool(
      [&] { data = evals::ListJson(context.api().reports->List(), UnixSeconds()); });
  context.Succeed(data);
}

void GetEvalRun(HandlerContext& context) {
  std::optional<std::string> data;
  context.api().runtime->RunOnIoPool([&] {
    auto found = context.api().reports->Find(context.head().path_parameters.at(0));
    if (found) data = evals::RunJson(*found);
  });
  if (!data) return context.Fail(Status(StatusCode::kNotFound, "eval run not found"));
  context.Succeed(*data);
}

}  // namespace agent_graph::api
