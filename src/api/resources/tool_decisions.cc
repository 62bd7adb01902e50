#include "api/resources/tool_decisions.h"

#include <set>
#include <string>

#include "agent_graph/json.h"
#include "api/http/request_memory.h"
#include "api/resources/request_shapes.h"
#include "base/json.h"
#include "run/context/execution_meta.h"
#include "run/context/open_inputs.h"
#include "state/service.h"

namespace agent_graph::api {
namespace {

std::vector<std::string> PathOf(size_t index, std::string member) {
  return {"body", std::string(kToolDecisions.name), std::to_string(index), std::move(member)};
}

}  // namespace

std::vector<run::ToolDecision> ReadToolDecisions(const json& body, Problems& problems) {
  std::vector<run::ToolDecision> decisions;
  const json* list = FindMember(body, kToolDecisions.name);
  if (list == nullptr || !list->is_array()) return decisions;
  std::set<std::string> decided;
  for (size_t i = 0; i < list->size(); ++i) {
    const json& item = (*list)[i];
    const json* call_id = item.is_object() ? FindMember(item, "call_id") : nullptr;
    if (call_id == nullptr || !call_id->is_string()) continue;
    run::ToolDecision& decision = decisions.emplace_back();
    decision.call_id = call_id->get<std::string>();
    decision.action = static_cast<run::ToolDecision::Action>(ChoiceOf(item, kToolAction));
    const bool has_result = item.contains("result");
    if (decision.action == run::ToolDecision::Action::kResult) {
      if (has_result) decision.result_json = DumpJson(item.at("result"));
      if (!has_result) {
        problems.Add(PathOf(i, "result"), "is required for the action result",
                     ProblemType::kMissing);
      }
    } else if (has_result) {
      problems.Add(PathOf(i, "result"), "is only for the action result", ProblemType::kValue);
    }
    if (!decided.insert(decision.call_id).second) {
      problems.Add(PathOf(i, "call_id"), "occurs twice", ProblemType::kValue);
    }
  }
  return decisions;
}

std::optional<ErrorInfo> CheckToolDecisions(HandlerContext& context,
                                            const run::RunRequest& request) {
  if (request.tool_decisions.empty()) return std::nullopt;
  if (context.api().state == nullptr) {
    return ErrorInfo{ApiError::kNotConfigured, "checkpointer not configured", {}};
  }
  const Result<state::ThreadState> thread =
      ReadThreadState(context.exchange(), *context.api().state, request.scope, request.thread_id);
  if (!thread.ok() && thread.status().code() != StatusCode::kNotFound) {
    return context.Explain(thread.status());
  }
  if (thread.ok() && thread->in_flight) return std::nullopt;
  run::OpenInputs inputs;
  if (thread.ok()) {
    const auto meta = run::ExecutionMeta::FromJson(thread->snapshot.execution_json);
    inputs = run::OpenInputs::FromJson(meta.inputs_json);
  }
  Problems problems;
  for (size_t i = 0; i < request.tool_decisions.size(); ++i) {
    const run::OpenInput* call = inputs.Find(request.tool_decisions[i].call_id);
    if (call != nullptr && call->undecided) continue;
    problems.Add(PathOf(i, "call_id"),
                 "no tool call of the thread with this id waits for a decision",
                 ProblemType::kValue);
  }
  if (problems.empty()) return std::nullopt;
  return std::move(problems).Error();
}

}  // namespace agent_graph::api
