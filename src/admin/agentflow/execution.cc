#include "admin/agentflow/execution.h"

#include "agent_graph/graph.h"
#include "agent_graph/json.h"
#include "base/json.h"
#include "run/context/execution_meta.h"

namespace agent_graph::admin::agentflow {
namespace {

using run::ExecutionMeta;

std::string TextAt(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string ShownNode(const std::string& node) {
  if (node == END) return run::kEndNode;
  return node == START || node.empty() ? "START" : node;
}

}  // namespace

std::string ExecutionOf(const json& execution_meta) {
  ExecutionMeta meta;
  if (!execution_meta.is_object()) return meta.ToJson();
  const std::string node = TextAt(execution_meta, "current_node");
  const std::string status = TextAt(execution_meta, "status");
  meta.current_node = ShownNode(node);
  if (const auto step = execution_meta.find("step");
      step != execution_meta.end() && step->is_number_integer()) {
    meta.step = step->get<int64_t>();
  }
  meta.stopped = TextAt(execution_meta, "stop_current_execution") == "stopped";
  if (status == run::PhaseName(ExecutionMeta::Phase::kInterruptedBefore)) {
    meta.phase = ExecutionMeta::Phase::kInterruptedBefore;
  } else if (status == run::PhaseName(ExecutionMeta::Phase::kInterruptedAfter)) {
    meta.phase = ExecutionMeta::Phase::kInterruptedAfter;
  } else if (status == run::PhaseName(ExecutionMeta::Phase::kError)) {
    meta.phase = ExecutionMeta::Phase::kError;
    const auto data = execution_meta.find("internal_data");
    if (data != execution_meta.end() && data->is_object()) meta.error = TextAt(*data, "error");
    if (meta.error.empty()) meta.error = "error";
  }
  if (!meta.interrupted()) return meta.ToJson();
  meta.interrupted_node = TextAt(execution_meta, "interrupted_node");
  meta.interrupt_reason = TextAt(execution_meta, "interrupt_reason");
  // After a pause behind a node AgentFlow has the next node here.
  meta.resume_node = node;
  if (const auto data = execution_meta.find("interrupt_data");
      data != execution_meta.end() && data->is_object()) {
    meta.interrupt_data_json = DumpJson(*data);
  }
  return meta.ToJson();
}

}  // namespace agent_graph::admin::agentflow
