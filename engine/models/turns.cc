#include "models/turns.h"

#include <utility>

#include "agent_graph/json.h"

namespace agent_graph::models {

void AppendTurn(json& turns, const char* role, const char* parts_key, json parts) {
  if (parts.empty()) return;
  if (turns.empty() || turns.back()["role"] != role) {
    turns.push_back({{"role", role}, {parts_key, std::move(parts)}});
    return;
  }
  json& all = turns.back()[parts_key];
  for (json& part : parts) all.push_back(std::move(part));
}

Status NothingToAnswer() {
  return Status(StatusCode::kInvalidArgument, "messages: hold nothing that a model could answer");
}

}  // namespace agent_graph::models
