#include "run/context/request_weight.h"

#include "agent_graph/json.h"
#include "base/json_weight.h"
#include "models/call_options.h"

namespace agent_graph::run {

namespace {

// JsonWeight of the value's text, except for escapes, without writing the text.
uint64_t WeightOf(const json& value) {
  constexpr uint64_t kNumberBytes = 8;
  if (value.is_string()) {
    return value.get_ref<const std::string&>().size() + 2 + json_weight::kString;
  }
  if (!value.is_structured()) return kNumberBytes;
  uint64_t weight = 2 + json_weight::kContainer;
  for (const auto& [key, element] : value.items()) {
    weight += WeightOf(element) + 1 + json_weight::kElement;
    if (value.is_object()) weight += key.size() + 3 + json_weight::kString + json_weight::kMember;
  }
  return weight;
}

}  // namespace

uint64_t WeightBesideMessages(const RunRequest& request) {
  uint64_t weight = 0;
  if (request.config) weight += WeightOf(*request.config);
  if (request.call_options) {
    const models::CallOptions& options = *request.call_options;
    weight += options.instructions.size() + JsonWeight(options.parameters_json).bytes();
    if (options.format) weight += JsonWeight(options.format->schema_json).bytes();
  }
  if (!request.client_tools) return weight;
  for (const ClientTool& tool : *request.client_tools) {
    weight += json_weight::kMessage + tool.name.size() + tool.description.size() +
              JsonWeight(tool.parameters_json).bytes();
  }
  return weight;
}

}  // namespace agent_graph::run
