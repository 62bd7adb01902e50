// Builds the AgentState object as JSON text directly from its stored parts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/context/execution_meta.h"
#include "state/types.h"

namespace agent_graph::run {

struct AgentStateParts {
  std::string_view thread_id;
  std::vector<std::string_view> messages;  // wire JSON, oldest first
  const std::optional<std::string>* summary = nullptr;
  std::string_view fields_json = "{}";
  const ExecutionMeta* execution = nullptr;
  LiveFlags flags;
};

// Returns the AgentState object (`context`, `context_summary`, `execution_meta`, custom fields) as
// returned by invoke, streams and GET …/state.
std::string AgentStateJson(const state::ThreadState& state);

std::string WriteAgentState(const AgentStateParts& parts);

// True for `context`, `context_summary` and `execution_meta`, which are reserved: custom fields
// must not use these names.
bool IsReservedField(std::string_view name);

}  // namespace agent_graph::run
