// GET /v1/observability/{thread_id}: a trace of the latest runs of a thread.
#include "api/http/context.h"
#include "api/http/query.h"
#include "api/resources/handlers.h"
#include "run/log/trace.h"
#include "state/requests.h"

namespace agent_graph::api {
namespace {

constexpr uint32_t kTracedRunsMax = 20;
constexpr uint32_t kTracedEntriesMax = 2000;  // per run, the newest ones

}  // namespace

void GetTrace(HandlerContext& context) {
  Problems problems;
  const std::string& thread_id = context.ThreadId(problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  const bool traced = context.api().state != nullptr &&
                      context.api().settings->mode == settings::Mode::kDevelopment;
  if (!traced) return context.Succeed(run::TraceJson(thread_id, {}));
  state::ReadRunsRequest read;
  read.scope = context.caller().scope;
  read.thread_id = thread_id;
  read.run_id = Query(context.head().query).Find("run_id").value_or("");
  read.runs_max = kTracedRunsMax;
  read.entries_max = kTracedEntriesMax;
  Result<state::RunTraces> traces = context.state().ReadRuns(read);
  if (traces.status().code() == StatusCode::kNotFound) traces = state::RunTraces();
  if (!traces.ok()) return context.Fail(traces.status());
  context.Succeed(run::TraceJson(thread_id, *traces));
}

}  // namespace agent_graph::api
