// `initial_state` of a request: what a client sets in a thread's state before a run.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "base/status.h"

namespace agent_graph::run {

struct InitialState {
  std::shared_ptr<const nlohmann::json> fields;  // an object; null: none given
  std::vector<Message> context;                  // put before the request's messages
  bool summary_present = false;
  std::optional<std::string> summary;  // with summary_present: nullopt clears it
};

// kInvalidArgument names the key. `execution_meta` is the engine's and is ignored.
Result<InitialState> ParseInitialState(const std::optional<std::string>& json);

}  // namespace agent_graph::run
