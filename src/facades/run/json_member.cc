#include "facades/run/json_member.h"

#include "base/json.h"

namespace agent_graph::facades {

void AppendMember(std::string& out, std::string_view name, std::string_view text) {
  out += ",\"";
  out += name;
  out += "\":";
  AppendJsonString(out, text);
}

}  // namespace agent_graph::facades
