#include "settings/remote_tools.h"

#include <utility>
#include <vector>

namespace agent_graph::settings {
namespace {

constexpr Key<RemoteToolSettings> kRemoteToolKeys[] = {
    {"node", [](const Value& v, RemoteToolSettings& t) { return v.ReadString(t.node); }},
    {"name", [](const Value& v, RemoteToolSettings& t) { return v.ReadString(t.name); }},
    {"description",
     [](const Value& v, RemoteToolSettings& t) { return v.ReadString(t.description); }},
    {"parameters",
     [](const Value& v, RemoteToolSettings& t) { return v.ReadObjectText(t.parameters_json); }},
};

}  // namespace

Status ReadRemoteTools(const Value& value, Settings& settings) {
  if (value.IsNull()) return Status::Ok();
  AG_ASSIGN_OR_RETURN(const std::vector<Value> elements, value.Elements());
  for (const Value& element : elements) {
    RemoteToolSettings tool;
    AG_RETURN_IF_ERROR(ReadObject(element, kRemoteToolKeys, tool));
    if (tool.node.empty() || tool.name.empty()) {
      return element.Error("needs a node and a name");
    }
    settings.remote_tools.push_back(std::move(tool));
  }
  return Status::Ok();
}

}  // namespace agent_graph::settings
