#include "agent_graph/node.h"

#include "agent_graph/json.h"
#include "base/json.h"

namespace agent_graph {

RunContext::~RunContext() = default;
MemoryAccess& RunContext::memories() {
  throw MemoryError("there is no memory store");
}
ModelError::~ModelError() = default;
RunCancelled::~RunCancelled() = default;

NodeResult& NodeResult::Add(Message message) {
  messages.push_back(std::move(message));
  return *this;
}

NodeResult& NodeResult::Set(std::string field, const json& value) {
  updates.push_back({std::move(field), DumpJson(value)});
  return *this;
}

NodeResult& NodeResult::GoTo(std::string node) {
  go_to = std::move(node);
  return *this;
}

NodeResult& NodeResult::Pause(std::string reason) {
  interrupt = Interrupt{.reason = std::move(reason)};
  return *this;
}

}  // namespace agent_graph
