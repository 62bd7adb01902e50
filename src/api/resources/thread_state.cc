// GET, PUT and DELETE /v1/threads/{thread_id}/state.

#include "agent_graph/json.h"
#include "api/http/context.h"
#include "api/http/request_memory.h"
#include "api/resources/file_references.h"
#include "api/resources/handlers.h"
#include "api/resources/message_input.h"
#include "api/resources/stored_message.h"
#include "base/ids.h"
#include "base/json.h"
#include "run/context/agent_state.h"
#include "state/requests.h"

namespace agent_graph::api {
namespace {

// Distributes the fields of `state` among the parts that the store merges by different rules.
// Ignores `execution_meta`, which only runs may set.
void ReadState(const json& fields, const HandlerContext& context, state::PutStateRequest& put,
               std::vector<Message>& messages, Problems& problems) {
  json custom = json::object();
  for (const auto& [key, value] : fields.items()) {
    if (key == "execution_meta") continue;
    if (key == "context") {
      put.context_cleared = value.is_null();
      if (value.is_null()) continue;
      messages =
          ReadMessageArray(value, {"body", "state", "context"}, MessageLimitsOf(context), problems);
    } else if (key == "context_summary") {
      put.summary_present = true;
      if (value.is_string()) put.summary = value.get<std::string>();
    } else {
      custom[key] = value;
    }
  }
  put.fields_json = DumpJson(custom);
}

// Returns the state behind `prefix`, without copies of it.
std::string StateData(std::string_view prefix, const state::ThreadState& state) {
  std::string data = run::AgentStateJson(state);
  data.insert(0, prefix);
  data += '}';
  return data;
}

}  // namespace

void GetThreadState(HandlerContext& context) {
  Problems problems;
  const std::string& thread_id = context.ThreadId(problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Result<state::ThreadState> state =
      ReadThreadState(context.exchange(), context.state(), context.caller().scope, thread_id);
  if (!state.ok()) return context.Fail(state.status());
  context.Succeed(StateData("{\"state\":", *state));
}

void PutThreadState(HandlerContext& context) {
  Problems problems;
  state::PutStateRequest put;
  put.scope = context.caller().scope;
  put.user_id = context.caller().user_id;
  put.thread_id = context.ThreadId(problems);
  put.creation_id = NewUuid();
  std::vector<Message> messages;
  ReadState(context.body().at("state"), context, put, messages, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  if (auto error = ResolveFiles(context, {"body", "state", "context"}, put.thread_id, messages)) {
    return context.Fail(*error);
  }
  put.messages = ToStored(std::move(messages), *context.api().ids);
  const Status room =
      AwaitStateMemory(context.exchange(), context.state(), put.scope, put.thread_id);
  if (!room.ok()) return context.Fail(room);
  Result<state::ThreadState> state = context.state().PutState(put);
  if (!state.ok()) return context.Fail(state.status());
  context.Succeed(StateData("{\"updated\":true,\"state\":", *state));
}

void DeleteThreadState(HandlerContext& context) {
  Problems problems;
  const std::string& thread_id = context.ThreadId(problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  Status cleared = context.state().ClearState(context.caller().scope, thread_id);
  if (!cleared.ok()) return context.Fail(cleared);
  context.Succeed(
      R"({"deleted":true,"success":true,"message":"thread state cleared","data":true})");
}

}  // namespace agent_graph::api
