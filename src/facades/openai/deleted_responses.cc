#include "facades/openai/deleted_responses.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/own_json.h"
#include "state/service.h"

namespace agent_graph::openai {
namespace {

const char* NameOf(ResponseOrigin origin) {
  switch (origin) {
    case ResponseOrigin::kNewThread:
      return "new_thread";
    case ResponseOrigin::kResponse:
      return "response";
    case ResponseOrigin::kConversation:
      break;
  }
  return "conversation";
}

// An object.
json DeletedOf(const state::ThreadRecord& thread) {
  // Most threads have no such note.
  if (thread.metadata_json.find(kDeletedResponses) == std::string::npos) return json::object();
  const Result<json> metadata = ParseJson(thread.metadata_json, kOwnJsonLimits);
  if (!metadata.ok() || !metadata->is_object()) return json::object();
  const auto deleted = metadata->find(kDeletedResponses);
  const bool is_there = deleted != metadata->end() && deleted->is_object();
  return is_there ? *deleted : json::object();
}

// True if the thread was made for one of these responses, and none of them is of a conversation.
bool IsOwnThread(const json& deleted) {
  const auto has = [&](ResponseOrigin origin) {
    return std::ranges::find(deleted, json(NameOf(origin))) != deleted.end();
  };
  return has(ResponseOrigin::kNewThread) && !has(ResponseOrigin::kConversation);
}

// True if nothing uses the thread once this response is deleted, too.
Result<bool> IsUnused(api::HandlerContext& context, const state::RunRecord& run,
                      ResponseOrigin origin) {
  const state::Scope& scope = context.caller().scope;
  AG_ASSIGN_OR_RETURN(const state::ThreadRecord thread,
                      context.state().GetThread(scope, run.thread_id));
  json deleted = DeletedOf(thread);
  deleted[run.run_id] = NameOf(origin);
  if (!IsOwnThread(deleted)) return false;
  state::ListRunsRequest list;
  list.scope = scope;
  list.thread_id = run.thread_id;
  do {
    AG_ASSIGN_OR_RETURN(state::RunPage page, context.state().ListRuns(list));
    const bool is_used = std::ranges::any_of(
        page.runs, [&](const state::RunRecord& one) { return !deleted.contains(one.run_id); });
    if (is_used) return false;
    list.cursor = std::move(page.next_cursor);
  } while (!list.cursor.empty());
  return true;
}

}  // namespace

bool IsDeleted(const state::ThreadRecord& thread, const std::string& run_id) {
  return DeletedOf(thread).contains(run_id);
}

Status RemoveResponse(api::HandlerContext& context, const state::RunRecord& run,
                      ResponseOrigin origin) {
  const state::Scope& scope = context.caller().scope;
  AG_ASSIGN_OR_RETURN(bool is_unused, IsUnused(context, run, origin));
  if (!is_unused) {
    state::AppendMessagesRequest note;
    note.scope = scope;
    note.thread_id = run.thread_id;
    note.must_exist = true;
    note.metadata_json = DumpJson({{kDeletedResponses, {{run.run_id, NameOf(origin)}}}});
    AG_RETURN_IF_ERROR(context.state().AppendMessages(note));
    // Each of several requests at the same time may have found the responses of the others. The one
    // whose note is the last finds none.
    AG_ASSIGN_OR_RETURN(is_unused, IsUnused(context, run, origin));
  }
  return is_unused ? context.state().DeleteThread(scope, run.thread_id) : Status::Ok();
}

}  // namespace agent_graph::openai
