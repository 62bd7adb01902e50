#include "models/turns.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace agent_graph::models {

void AppendTurn(nlohmann::json& turns, const char* role, const char* parts_key,
                nlohmann::json parts) {
  if (parts.empty()) return;
  if (turns.empty() || turns.back()["role"] != role) {
    turns.push_back({{"role", role}, {parts_key, std::move(parts)}});
    return;
  }
  nlohmann::json& all = turns.back()[parts_key];
  for (nlohmann::json& part : parts) all.push_back(std::move(part));
}

Status NothingToAnswer() {
  return Status(StatusCode::kInvalidArgument, "messages: hold nothing that a model could answer");
}

}  // namespace agent_graph::models
