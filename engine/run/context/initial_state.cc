#include "run/context/initial_state.h"

#include "agent_graph/json.h"

namespace agent_graph::run {
namespace {

Status ReadSummary(const json& summary, InitialState& out) {
  out.summary_present = true;
  if (summary.is_null()) return Status::Ok();
  if (!summary.is_string()) {
    return Status(StatusCode::kInvalidArgument,
                  "initial_state.context_summary: must be a string or null");
  }
  out.summary = summary.get<std::string>();
  return Status::Ok();
}

}  // namespace

Result<InitialState> ReadInitialState(const std::shared_ptr<const json>& value) {
  InitialState initial;
  if (value == nullptr || value->is_null()) return initial;
  if (!value->is_object()) {
    return Status(StatusCode::kInvalidArgument, "initial_state: must be an object");
  }
  if (auto summary = value->find("context_summary"); summary != value->end()) {
    AG_RETURN_IF_ERROR(ReadSummary(*summary, initial));
  }
  initial.fields = value;
  return initial;
}

}  // namespace agent_graph::run
