// POST /v1/graph/fix: removes tool calls without a result, and results without a call.

#include "agent_graph/json.h"
#include "api/http/body_config.h"
#include "api/http/context.h"
#include "api/http/request_memory.h"
#include "api/resources/handlers.h"
#include "base/json.h"
#include "run/context/agent_state.h"
#include "run/context/dangling_calls.h"

namespace agent_graph::api {
namespace {

// Attempts before a thread that other requests keep changing counts as busy.
constexpr int kAttempts = 3;

std::string FixData(bool success, const std::string& message, size_t removed,
                    const std::string& state_json) {
  std::string data = success ? "{\"success\":true,\"message\":" : "{\"success\":false,\"message\":";
  AppendJsonString(data, message);
  data += ",\"removed_count\":" + std::to_string(removed);
  data += ",\"state\":" + state_json + "}";
  return data;
}

std::string Describe(size_t removed) {
  if (removed == 0) return "no message needed to be removed";
  return std::to_string(removed) + (removed == 1 ? " message removed" : " messages removed");
}

// Returns the number of removed messages.
Result<size_t> Fix(HandlerContext& context, const state::ThreadState& state) {
  if (state.in_flight) return Status(StatusCode::kBusy, "the thread has a run in flight");
  AG_ASSIGN_OR_RETURN(std::vector<std::string> dangling, run::DanglingMessages(state.window));
  if (dangling.empty()) return size_t{0};
  const size_t removed = dangling.size();
  AG_RETURN_IF_ERROR(
      context.state().RemoveMessages({context.caller().scope, state.record.thread_id,
                                      state.record.updated_micros, std::move(dangling)}));
  return removed;
}

}  // namespace

void FixGraph(HandlerContext& context) {
  const std::string thread_id = OwnThreadId(context.body());
  if (context.api().state == nullptr) {
    return context.Fail(ErrorInfo{ApiError::kNotConfigured, "checkpointer not configured", {}});
  }
  const state::Scope& scope = context.caller().scope;
  const uint64_t held_bytes = context.exchange().held_bytes();
  const auto read = [&] {
    context.exchange().Hold(held_bytes);
    return ReadThreadState(context.exchange(), context.state(), scope, thread_id);
  };
  Status failure;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<state::ThreadState> state = read();
    if (state.status().code() == StatusCode::kNotFound) {
      return context.Succeed(FixData(false, "the thread has no state", 0, "null"));
    }
    if (!state.ok()) return context.Fail(state.status());
    Result<size_t> removed = Fix(context, *state);
    if (removed.ok()) {
      if (*removed > 0) state = read();
      if (!state.ok()) return context.Fail(state.status());
      return context.Succeed(
          FixData(true, Describe(*removed), *removed, run::AgentStateJson(*state)));
    }
    failure = removed.status();
    if (failure.code() != StatusCode::kBusy || state->in_flight) break;
  }
  context.Fail(failure);
}

}  // namespace agent_graph::api
