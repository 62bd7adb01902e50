// `initial_state` of a request: the values that a client sets in a thread's state before a run. Its
// `context` is a list of messages and is passed separately (RunRequest::initial_context).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph::run {

struct InitialState {
  std::shared_ptr<const json> fields;  // an object; null: not given
  bool summary_present = false;
  std::optional<std::string> summary;  // used with summary_present; nullopt clears it
};

// Returns kInvalidArgument that names the key. `context` and `execution_meta` are ignored.
Result<InitialState> ReadInitialState(const std::shared_ptr<const json>& value);

}  // namespace agent_graph::run
