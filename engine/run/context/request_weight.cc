#include "run/context/request_weight.h"

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/json_weight.h"
#include "models/call_options.h"

namespace agent_graph::run {

uint64_t WeightBesideMessages(const RunRequest& request) {
  uint64_t weight = 0;
  if (request.config) weight += JsonWeight(DumpJson(*request.config)).bytes();
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
