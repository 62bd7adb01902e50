// GET /v1/threads, GET and DELETE /v1/threads/{thread_id}.
#include <algorithm>

#include "api/http/context.h"
#include "api/http/json_members.h"
#include "api/http/query.h"
#include "api/resources/handlers.h"
#include "base/json.h"
#include "base/json_array.h"

namespace agent_graph::api {
namespace {

constexpr std::string_view kMetadataParameter = "metadata.";
// A longer value is not indexed.
constexpr size_t kMetadataValueBytesMax = 512;

std::string JoinNames(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

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

// Reads `metadata.<name>=<value>`, for names that the settings declare. A name that occurs twice
// must have both values, which no thread has.
void ReadMetadata(const HandlerContext& context, const Query& query, state::PageRequest& page,
                  Problems& problems) {
  const std::vector<std::string>& declared = context.api().settings->threads.indexed_metadata;
  for (const auto& [parameter, text] : query.values()) {
    if (!parameter.starts_with(kMetadataParameter)) continue;
    const std::string name = parameter.substr(kMetadataParameter.size());
    if (std::ranges::find(declared, name) == declared.end()) {
      problems.Add({"query", parameter},
                   declared.empty() ? "no metadata is in threads.indexed_metadata of service.json"
                                    : "must be one of threads.indexed_metadata of service.json: " +
                                          JoinNames(declared),
                   ProblemType::kChoice);
    } else if (text.size() > kMetadataValueBytesMax) {
      problems.Add({"query", parameter},
                   "must have at most " + std::to_string(kMetadataValueBytesMax) + " bytes",
                   ProblemType::kTooLong);
    } else {
      page.metadata.push_back({name, text});
    }
  }
}

}  // namespace

void ListThreads(HandlerContext& context) {
  Problems problems;
  const Query query(context.head().query);
  state::PageRequest page = ReadPage(query, problems);
  ReadMetadata(context, query, page, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Result<state::ThreadPage> threads = context.state().ListThreads(context.caller().scope, page);
  if (!threads.ok()) return context.Fail(threads.status());
  std::string data = "{\"threads\":";
  AppendJsonArray(data, threads->threads, [](std::string& out, const state::ThreadRecord& thread) {
    AppendRecord(out, thread);
  });
  data += ',';
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
