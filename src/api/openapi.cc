#include "api/openapi.h"

#include <array>
#include <nlohmann/json.hpp>

#include "api/openapi_components.h"
#include "api/request_shapes.h"
#include "api/routes.h"
#include "base/version.h"

namespace agent_graph::api {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchemas = "#/components/schemas/";

std::string MethodKey(Method method) {
  switch (method) {
    case Method::kGet:
      return "get";
    case Method::kPost:
      return "post";
    case Method::kPut:
      return "put";
    case Method::kDelete:
      return "delete";
  }
  return "";
}

Json Reference(std::string_view component) {
  return {{"$ref", std::string(kSchemas) + std::string(component)}};
}

// "get_v1_threads_thread_id": unique, because a method and a path are.
std::string OperationId(const Route& route) {
  std::string id = MethodKey(route.method);
  for (char c : route.pattern) {
    bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (word || c == '_') {
      id += c;
    } else if (id.back() != '_') {
      id += '_';
    }
  }
  while (id.back() == '_') id.pop_back();
  return id;
}

// Of the names that occur in paths; others are any text.
Json PathParameterSchema(std::string_view name) {
  static constexpr Field kThread{
      .name = "thread_id", .type = FieldType::kThreadId, .required = true, .not_blank = true};
  static constexpr Field kOther{.name = {},
                                .type = FieldType::kText,
                                .required = true,
                                .not_blank = true,
                                .maximum = static_cast<int64_t>(kIdBytesMax)};
  Json schema = SchemaOf(name == "thread_id" ? kThread : kOther);
  schema["type"] = "string";
  schema.erase("minimum");
  schema.erase("maximum");
  return schema;
}

void AppendPathParameters(Json& parameters, std::string_view pattern) {
  for (size_t at = pattern.find('{'); at != std::string_view::npos; at = pattern.find('{', at)) {
    size_t end = pattern.find('}', at);
    std::string_view name = pattern.substr(at + 1, end - at - 1);
    parameters.push_back({{"name", name},
                          {"in", "path"},
                          {"required", true},
                          {"schema", PathParameterSchema(name)}});
    at = end;
  }
}

Json Parameters(const Route& route) {
  Json parameters = Json::array();
  AppendPathParameters(parameters, route.pattern);
  if (route.shape.query != nullptr) {
    for (Field field : route.shape.query->fields) {
      Json parameter = {{"name", field.name}, {"in", "query"}, {"required", field.required}};
      if (!field.description.empty()) parameter["description"] = field.description;
      field.description = {};
      field.required = true;  // a query knows no null
      parameter["schema"] = SchemaOf(field);
      parameters.push_back(std::move(parameter));
    }
  }
  return parameters;
}

Json RequestBody(const Route& route) {
  if (route.body == BodyKind::kStream) {
    Json schema = {
        {"type", "object"},
        {"properties", {{"file", {{"type", "string"}, {"format", "binary"}, {"minLength", 1}}}}},
        {"required", {"file"}}};
    return {{"required", true},
            {"content", {{"multipart/form-data", {{"schema", std::move(schema)}}}}}};
  }
  Json schema =
      route.shape.body != nullptr ? Reference(route.shape.body->name) : Json{{"type", "object"}};
  const bool required = route.body == BodyKind::kJson;
  if (!required) schema = {{"anyOf", {std::move(schema), {{"type", "null"}}}}};
  return {{"required", required},
          {"content", {{"application/json", {{"schema", std::move(schema)}}}}}};
}

// What every success is wrapped in.
Json Envelope(std::string_view component) {
  Json data = component.empty() ? Json::object() : Reference(component);
  return {{"type", "object"},
          {"properties",
           {{"success", {{"const", true}}},
            {"data", std::move(data)},
            {"message", {{"type", "string"}}},
            {"timestamp", {{"type", "string"}}},
            {"metadata", Reference("Metadata")}}},
          {"required", {"success", "data", "metadata"}}};
}

Json StreamContent() {
  Json lines = {{"schema", Reference("StreamChunk")}};
  return {{"text/event-stream", lines}, {"application/x-ndjson", lines}};
}

Json Success(const Route& route) {
  if (route.transport != Transport::kHttp)
    return {{"description", "The connection is a WebSocket"}};
  if (route.shape.data == kStreamAnswer) {
    return {{"description", "One JSON object a line, each sent as it is produced"},
            {"content", StreamContent()}};
  }
  if (route.shape.data == kBytesAnswer) {
    Json bytes = {{"schema", {{"type", "string"}, {"format", "binary"}}}};
    return {{"description", "The bytes, under the type they were stored with"},
            {"content", {{"*/*", std::move(bytes)}}}};
  }
  return {{"description", "Success"},
          {"content", {{"application/json", {{"schema", Envelope(route.shape.data)}}}}}};
}

Json Responses(const Route& route) {
  Json error = {{"$ref", "#/components/responses/Error"}};
  return {{route.transport == Transport::kHttp ? "200" : "101", Success(route)},
          {"4XX", error},
          {"5XX", error}};
}

Json Operation(const Route& route, bool guarded) {
  Json operation = {{"operationId", OperationId(route)}, {"summary", route.summary}};
  operation["tags"] = {route.resource.empty() ? "public" : std::string(route.resource)};
  if (Json parameters = Parameters(route); !parameters.empty()) {
    operation["parameters"] = std::move(parameters);
  }
  if (route.body != BodyKind::kNone) operation["requestBody"] = RequestBody(route);
  operation["responses"] = Responses(route);
  if (route.transport != Transport::kHttp) {
    Json socket = {{"liveAudio", route.transport == Transport::kLiveSocket}};
    if (route.shape.body != nullptr) socket["clientFrame"] = Reference(route.shape.body->name);
    if (!route.shape.data.empty()) socket["serverFrame"] = Reference(route.shape.data);
    operation["x-websocket"] = std::move(socket);
  }
  if (route.access == Access::kGuarded) {
    operation["x-permission"] = std::string(route.resource) + ":" + std::string(route.action);
  } else if (guarded) {
    operation["security"] = Json::array();
  }
  return operation;
}

Json Paths(bool guarded) {
  Json paths = Json::object();
  for (const Route& route : Routes()) {
    if (route.access == Access::kDocumentation) continue;
    paths[std::string(route.pattern)][MethodKey(route.method)] = Operation(route, guarded);
  }
  return paths;
}

Json Schemas() {
  Json schemas = Json::object();
  for (const Route& route : Routes()) {
    const FieldTable* body = route.shape.body;
    if (body != nullptr) schemas[std::string(body->name)] = SchemaOf(body->fields);
  }
  for (std::string_view text : {kMessageSchemas, kAnswerSchemas, kFileSchemas})
    schemas.update(Json::parse(text));
  return schemas;
}

Json SecuritySchemes() {
  return {{"bearer",
           {{"type", "http"},
            {"scheme", "bearer"},
            {"description",
             "WebSockets also take the token as the second of two sub-protocols, "
             "behind `service-bearer`, or as the parameter `token`."}}}};
}

}  // namespace

std::string OpenApiDocument(const settings::Settings& settings, std::string_view base_path) {
  const bool guarded =
      settings.authentication.method != settings::AuthenticationSettings::Method::kNone;
  Json document = {{"openapi", "3.1.0"},
                   {"info", {{"title", "Agent Graph"}, {"version", kVersion}}},
                   {"servers", {{{"url", base_path.empty() ? "/" : base_path}}}},
                   {"paths", Paths(guarded)}};
  Json& components = document["components"];
  components["schemas"] = Schemas();
  components["responses"]["Error"] = {
      {"description", "The request failed"},
      {"content", {{"application/json", {{"schema", Reference("Error")}}}}}};
  if (guarded) {
    components["securitySchemes"] = SecuritySchemes();
    document["security"] = {{{"bearer", Json::array()}}};
  }
  return document.dump();
}

}  // namespace agent_graph::api
