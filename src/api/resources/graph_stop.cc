// POST /v1/graph/stop: requests the end of a thread's run, in whichever worker it runs.

#include "agent_graph/json.h"
#include "api/http/body_config.h"
#include "api/http/context.h"
#include "api/resources/handlers.h"
#include "base/clock.h"
#include "base/json.h"
#include "graph/compiled_graph.h"
#include "state/requests.h"

namespace agent_graph::api {
namespace {

// Returns `config.cancel`: if true, the run does not even wait for the current node.
bool CancelOf(const json& body) {
  const json* config = FindMember(body, "config");
  const json* cancel = config != nullptr ? FindMember(*config, "cancel") : nullptr;
  return cancel != nullptr && cancel->get<bool>();
}

std::string RunIdOf(const json& body) {
  const json* run_id = FindMember(body, "run_id");
  return run_id != nullptr ? run_id->get<std::string>() : "";
}

// Returns the members of the documented response and those that clients read.
json StopData(const std::string& thread_id, const state::StopReply& stop, const char* reason) {
  json data;
  data["thread_id"] = thread_id;
  data["status"] = "stopped";
  data["success"] = true;
  data["ok"] = true;
  data["running"] = stop.running;
  data["message"] = stop.running ? "the run was asked to stop" : "no run was in flight";
  data["run_id"] = stop.running ? json(stop.run_id) : json();
  data["stopped_at"] = stop.running ? json(IsoTimestampNow()) : json();
  data["reason"] = stop.running ? json() : json(reason);
  return data;
}

}  // namespace

void StopGraph(HandlerContext& context) {
  state::StopRequest stop;
  stop.scope = context.caller().scope;
  stop.thread_id = OwnThreadId(context.body());
  // A live session is one node without an end: only a cancellation wakes it.
  stop.cancel = CancelOf(context.body()) || context.api().graph->live_root() != nullptr;
  stop.run_id = RunIdOf(context.body());
  // Without a checkpointer each run has its own thread, which no other request can name.
  if (context.api().state == nullptr) {
    return context.Succeed(DumpJson(StopData(stop.thread_id, {}, "no-checkpointer")));
  }
  Result<state::StopReply> reply = context.state().RequestStop(stop);
  if (!reply.ok()) return context.Fail(reply.status());
  context.Succeed(DumpJson(StopData(stop.thread_id, *reply, "not-running")));
}

}  // namespace agent_graph::api
