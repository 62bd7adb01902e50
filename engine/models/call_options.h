// Changes that one request makes to the calls of its models, on top of the parameters of the graph
// and of the operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph::models {

struct CallOptions {
  enum class ToolChoice : uint8_t {
    kAuto,      // the model decides
    kRequired,  // it must call a tool
    kNamed,     // it must call `tool_name`
  };
  struct Format {
    enum class Kind : uint8_t { kJsonObject, kJsonSchema };
    Kind kind = Kind::kJsonObject;
    // For kJsonSchema only.
    std::string name;
    std::string schema_json;
    std::optional<bool> strict;
  };

  std::string instructions;  // follow the agent's system prompt; empty: none
  // An object; the names are those of parameters of a graph's agent. A model ignores those that its
  // provider does not have. `max_tokens` can only lower what is configured.
  std::string parameters_json = "{}";
  ToolChoice tool_choice = ToolChoice::kAuto;
  std::string tool_name;
  std::optional<bool> parallel_tool_calls;
  std::optional<Format> format;
};

json ToJson(const CallOptions& options);
// kDataLoss: not what ToJson returns.
Result<CallOptions> CallOptionsFromJson(const json& value);

}  // namespace agent_graph::models
