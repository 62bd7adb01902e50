#include "run/context/request_weight.h"

#include "agent_graph/json.h"
#include "base/json_weight.h"
#include "models/call_options.h"

namespace agent_graph::run {
namespace {

// About JsonWeight of the value's text, without writing the text. Client-chosen values may be
// deeply nested, so the stack frame is kept small.
uint64_t WeightOf(const json& value) {
  constexpr uint64_t kOtherBytes = 8;  // of a number or literal
  if (const auto* text = value.get_ptr<const std::string*>()) {
    return text->size() + 2 + json_weight::kString;
  }
  uint64_t weight = 2 + json_weight::kContainer;
  if (const auto* members = value.get_ptr<const json::object_t*>()) {
    constexpr uint64_t kMember =
        json_weight::kElement + json_weight::kString + json_weight::kMember;
    for (const auto& [key, member] : *members)
      weight += key.size() + 4 + kMember + WeightOf(member);
    return weight;
  }
  if (const auto* elements = value.get_ptr<const json::array_t*>()) {
    for (const json& element : *elements) weight += 1 + json_weight::kElement + WeightOf(element);
    return weight;
  }
  return kOtherBytes;
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
