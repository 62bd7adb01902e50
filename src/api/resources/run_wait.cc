// GET /v1/threads/{thread_id}/runs/{run_id}/wait: waits for the end of a run and returns its
// result.
#include "api/http/query.h"
#include "api/resources/handlers.h"
#include "api/resources/run_record.h"
#include "api/resources/run_result.h"
#include "api/resources/run_shapes.h"
#include "api/resources/run_streaming.h"

namespace agent_graph::api {

void WaitForRun(HandlerContext& context) {
  Problems problems;
  const Query query(context.head().query);
  context.ThreadId(problems);
  const std::chrono::seconds timeout(ReadInteger(query, kWaitSeconds, problems));
  const auto granularity =
      static_cast<Granularity>(ReadChoice(query, kResponseGranularity, problems));
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Result<state::RunRecord> run = FindRun(context);
  if (!run.ok()) return context.Fail(run.status());
  const FollowerLimit::Place place = EnterFollowers(context, run->thread_id);
  if (!place) return context.Fail(TooManyFollowers());
  const Status ended = AwaitRunEnd(context, *run, DeadlineAfter(timeout));
  if (ended.ok()) return AnswerRunResult(context, *run, granularity);
  if (ended.code() != StatusCode::kDeadlineExceeded) return context.Fail(ended);
  std::string data;
  AppendRunRecord(data, *run);
  context.Succeed(202, std::move(data),
                  {{"Location", RunStreamPath(context, run->thread_id, run->run_id)}});
}

}  // namespace agent_graph::api
