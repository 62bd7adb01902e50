#include "settings/json_schema.h"

#include "agent_graph/json.h"
#include "settings/schema.h"
#include "settings/shape.h"

namespace agent_graph::settings {

std::string ServiceSchema() {
  Shape shape;
  Settings settings;
  settings.directory = "/";
  const Environment environment;
  const json document = json::object();
  // Fails, because no sample is a complete document. The shape is what counts.
  (void)ReadDocument(Value(document, "", environment, &shape), settings);
  json schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "service.json"},
      {"description", "Settings of a service of Agent Graph; see docs/configuration.md."}};
  schema.update(shape.ToSchema());
  schema["required"] = {"agent"};
  schema["$defs"]["Variable"] = {
      {"type", "string"},
      {"pattern", "\\$\\{"},
      {"description", "Text with ${NAME} or ${NAME:-default}: a variable of the environment."}};
  return schema.dump(2) + "\n";
}

}  // namespace agent_graph::settings
