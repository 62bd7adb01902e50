#include "api/resources/run_record.h"

#include "api/http/json_members.h"
#include "api/http/validation.h"
#include "api/resources/run_shapes.h"
#include "base/json.h"
#include "base/percent_encoding.h"
#include "base/utf8.h"

namespace agent_graph::api {
namespace {

void AppendText(std::string& out, std::string_view key, std::string_view text) {
  out += ',';
  AppendTextMember(out, key, text);
}

void AppendTime(std::string& out, std::string_view key, int64_t micros) {
  out += ',';
  AppendTimeMember(out, key, micros);
}

void AppendIdentity(std::string& out, const state::RunRecord& run) {
  out += "{\"run_id\":";
  AppendJsonString(out, run.run_id);
  AppendText(out, "thread_id", run.thread_id);
  AppendText(out, "status", NameOf(run.state));
}

}  // namespace

std::string_view NameOf(state::RunState state) {
  static_assert(static_cast<size_t>(state::RunState::kStopped) + 1 == kRunStates.size());
  return kRunStates[static_cast<size_t>(state)];
}

void AppendRunRecord(std::string& out, const state::RunRecord& run) {
  AppendIdentity(out, run);
  AppendText(out, "reason", run.reason);
  out += ",\"attempt\":" + std::to_string(run.attempt);
  AppendText(out, "resumes", run.resumes);
  AppendText(out, "graph_hash", run.graph_hash);
  AppendTime(out, "created_at", run.created_micros);
  AppendTime(out, "started_at", run.started_micros);
  AppendTime(out, "finished_at", run.finished_micros);
  out += ",\"usage\":";
  out += run.usage_json.empty() ? "{}" : run.usage_json;
  AppendText(out, "current_node", run.current_node);
  out += ",\"step\":" + std::to_string(run.step) + '}';
}

std::string AcceptedRunJson(const state::RunRecord& run) {
  std::string out;
  AppendIdentity(out, run);
  out += ",\"attempt\":" + std::to_string(run.attempt) + '}';
  return out;
}

std::string RunStreamPath(const HandlerContext& context, const std::string& thread_id,
                          const std::string& run_id) {
  return context.head().base_path + "/v1/threads/" + PercentEncode(thread_id) + "/runs/" +
         PercentEncode(run_id) + "/stream";
}

Result<state::RunRecord> FindRun(HandlerContext& context) {
  const std::string& run_id = context.head().path_parameters.at(1);
  if (run_id.size() > kIdBytesMax || !IsUtf8(run_id)) return NotFound("run not found");
  return context.state().GetRun(
      {context.caller().scope, context.head().path_parameters.at(0), run_id});
}

}  // namespace agent_graph::api
