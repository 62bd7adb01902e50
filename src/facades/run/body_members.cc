#include "facades/run/body_members.h"

#include "agent_graph/json.h"
#include "api/http/validation.h"

namespace agent_graph::facades {

Location Below(const Location& location, std::string_view member) {
  Location below = location;
  below.emplace_back(member);
  return below;
}

std::string_view TextOf(const json& object, const char* name) {
  const json* member = api::FindMember(object, name);
  if (member == nullptr || !member->is_string()) return {};
  return member->get_ref<const std::string&>();
}

bool IsTrue(const json& object, const char* name) {
  const json* member = api::FindMember(object, name);
  return member != nullptr && *member == true;
}

bool IsFalse(const json& object, const char* name) {
  const json* member = api::FindMember(object, name);
  return member != nullptr && *member == false;
}

}  // namespace agent_graph::facades
