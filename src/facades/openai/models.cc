// GET /models and GET /models/{model}: the agent as a model.
#include <cstdint>
#include <string>

#include "api/http/context.h"
#include "base/clock.h"
#include "base/json.h"
#include "facades/openai/handlers.h"
#include "facades/openai/reply.h"
#include "graph/compiled_graph.h"

namespace agent_graph::openai {
namespace {

// The protocol wants a time of creation. This module is loaded before the workers are forked, so
// all of them give the same time.
const auto loaded_at = static_cast<int64_t>(UnixSeconds());

std::string ModelJson(const std::string& name) {
  std::string out = R"({"id":)";
  AppendJsonString(out, name);
  out += R"(,"object":"model","created":)" + std::to_string(loaded_at);
  out += R"(,"owned_by":"agent-graph"})";
  return out;
}

}  // namespace

void ListModels(api::HandlerContext& context) {
  const std::string& name = context.api().graph->name();
  SendJson(context, R"({"object":"list","data":[)" + ModelJson(name) + "]}");
}

void GetModel(api::HandlerContext& context) {
  const std::string& name = context.api().graph->name();
  const std::string& wanted = context.head().path_parameters.at(0);
  if (wanted != name) return context.Fail(UnknownModel(wanted, name));
  SendJson(context, ModelJson(name));
}

}  // namespace agent_graph::openai
