#include "facades/openai/deleted_responses.h"

#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/own_json.h"
#include "state/service.h"

namespace agent_graph::openai {
namespace {

constexpr char kDeletedResponses[] = "deleted_responses";

}  // namespace

bool IsDeleted(const state::ThreadRecord& thread, const std::string& run_id) {
  // Most threads have no such note.
  if (thread.metadata_json.find(kDeletedResponses) == std::string::npos) return false;
  const Result<json> metadata = ParseJson(thread.metadata_json, kOwnJsonLimits);
  if (!metadata.ok() || !metadata->is_object()) return false;
  const auto deleted = metadata->find(kDeletedResponses);
  return deleted != metadata->end() && deleted->is_object() && deleted->contains(run_id);
}

Status RemoveResponse(api::HandlerContext& context, const state::RunRecord& run,
                      bool has_own_thread) {
  const state::Scope& scope = context.caller().scope;
  state::ListRunsRequest list;
  list.scope = scope;
  list.thread_id = run.thread_id;
  list.limit = 2;
  AG_ASSIGN_OR_RETURN(const state::RunPage runs, context.state().ListRuns(list));
  if (has_own_thread && runs.runs.size() == 1) {
    return context.state().DeleteThread(scope, run.thread_id);
  }
  if (!state::HasEnded(run.state)) {
    AG_RETURN_IF_ERROR(
        context.state().RequestStop({scope, run.thread_id, true, run.run_id}).status());
  }
  state::AppendMessagesRequest note;
  note.scope = scope;
  note.thread_id = run.thread_id;
  note.metadata_json = DumpJson({{kDeletedResponses, {{run.run_id, true}}}});
  return context.state().AppendMessages(note);
}

}  // namespace agent_graph::openai
