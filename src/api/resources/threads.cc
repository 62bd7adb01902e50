// GET /v1/threads, GET and DELETE /v1/threads/{thread_id}.
#include "api/http/context.h"
#include "api/http/json_members.h"
#include "api/http/query.h"
#include "api/resources/handlers.h"
#include "base/json.h"

namespace agent_graph::api {
namespace {

// Clients read `thread_name` and `updated_at`; the documented response also has `name` and
// `created_at`.
void AppendRecord(std::string& out, const state::ThreadRecord& record, bool close = true) {
  out += "{\"thread_id\":";
  AppendJsonString(out, record.thread_id);
  out += ',';
  AppendTextMember(out, "thread_name", record.name);
  out += ',';
  AppendTextMember(out, "name", record.name);
  out += ',';
  AppendTextMember(out, "user_id", record.owner);
  out += ",\"metadata\":";
  out += record.metadata_json.empty() ? "{}" : record.metadata_json;
  out += ',';
  AppendTimeMember(out, "created_at", record.created_micros);
  out += ',';
  AppendTimeMember(out, "updated_at", record.updated_micros);
  out += ',';
  AppendTextMember(out, "run_id", record.last_run_id);
  if (close) out += '}';
}

}  // namespace

void ListThreads(HandlerContext& context) {
  Problems problems;
  state::PageRequest page = ReadPage(Query(context.head().query), problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Result<state::ThreadPage> threads = context.state().ListThreads(context.caller().scope, page);
  if (!threads.ok()) return context.Fail(threads.status());
  std::string data = "{\"threads\":[";
  for (size_t i = 0; i < threads->threads.size(); ++i) {
    if (i > 0) data += ',';
    AppendRecord(data, threads->threads[i]);
  }
  data += "],";
  AppendTextMember(data, "next_cursor", threads->next_cursor);
  data += '}';
  context.Succeed(data);
}

// The response contains the record a second time under `thread`, where one of the clients reads it.
void GetThread(HandlerContext& context) {
  Problems problems;
  const std::string& thread_id = context.ThreadId(problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Result<state::ThreadRecord> record = context.state().GetThread(context.caller().scope, thread_id);
  if (!record.ok()) return context.Fail(record.status());
  std::string data = "{\"thread_data\":";
  AppendRecord(data, *record, false);
  data += ",\"thread\":";
  AppendRecord(data, *record);
  data += "}}";
  context.Succeed(data);
}

void DeleteThread(HandlerContext& context) {
  Problems problems;
  const std::string& thread_id = context.ThreadId(problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Status deleted = context.state().DeleteThread(context.caller().scope, thread_id);
  if (!deleted.ok()) return context.Fail(deleted);
  context.api().guard->Evict(thread_id);
  context.Succeed(R"({"success":true,"message":"thread deleted","data":true})");
}

}  // namespace agent_graph::api
