// GET /v1/threads/{thread_id}/runs, GET …/{run_id} and POST …/{run_id}/cancel.
#include "state/runs.h"
#include "api/http/context.h"
#include "api/http/query.h"
#include "api/resources/handlers.h"
#include "api/resources/run_record.h"
#include "api/resources/run_shapes.h"
#include "base/json.h"
#include "base/json_array.h"

namespace agent_graph::api {

void ListRuns(HandlerContext& context) {
  Problems problems;
  const Query query(context.head().query);
  state::ListRunsRequest list;
  list.scope = context.caller().scope;
  list.thread_id = context.ThreadId(problems);
  const state::PageRequest page = ReadPage(query, problems);
  list.limit = page.limit;
  list.cursor = page.cursor;
  if (query.Find(kRunStateFilter.name)) {
    list.run_state = static_cast<state::RunState>(ReadChoice(query, kRunStateFilter, problems));
  }
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Result<state::RunPage> runs = context.state().ListRuns(list);
  if (!runs.ok()) return context.Fail(runs.status());
  std::string data = "{\"runs\":";
  AppendJsonArray(data, runs->runs, AppendRunRecord);
  data += ",\"next_cursor\":";
  if (runs->next_cursor.empty()) {
    data += "null";
  } else {
    AppendJsonString(data, runs->next_cursor);
  }
  data += '}';
  context.Succeed(std::move(data));
}

void GetRun(HandlerContext& context) {
  Problems problems;
  context.ThreadId(problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  const Result<state::RunRecord> run = FindRun(context);
  if (!run.ok()) return context.Fail(run.status());
  std::string data;
  AppendRunRecord(data, *run);
  context.Succeed(std::move(data));
}

// A run that has ended stays as it is.
void CancelRun(HandlerContext& context) {
  if (context.api().state == nullptr) {
    return context.Fail(ErrorInfo{ApiError::kNotConfigured, "checkpointer not configured", {}});
  }
  Problems problems;
  context.ThreadId(problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Result<state::RunRecord> run = FindRun(context);
  if (!run.ok()) return context.Fail(run.status());
  bool stopping = false;
  if (!state::HasEnded(run->state)) {
    const Result<state::StopReply> stop =
        context.state().RequestStop({context.caller().scope, run->thread_id, true, run->run_id});
    if (!stop.ok()) return context.Fail(stop.status());
    stopping = stop->running;
    run = FindRun(context);
    if (!run.ok()) return context.Fail(run.status());
  }
  std::string data = "{\"cancelling\":";
  data += stopping && !state::HasEnded(run->state) ? "true" : "false";
  data += ",\"run\":";
  AppendRunRecord(data, *run);
  data += '}';
  context.Succeed(std::move(data));
}

}  // namespace agent_graph::api
