#include "api/openapi/document.h"

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "api/http/fields.h"
#include "api/openapi/components.h"
#include "api/resources/request_shapes.h"
#include "api/routes.h"
#include "base/letter_case.h"
#include "base/version.h"

namespace agent_graph::api {
namespace {

constexpr std::string_view kSchemas = "#/components/schemas/";

std::string MethodKey(Method method) {
  return LowerCase(NameOf(method));
}

json Reference(std::string_view component) {
  return {{"$ref", std::string(kSchemas) + std::string(component)}};
}

// Returns an id such as "get_v1_threads_thread_id". It is unique, because the pair of method and
// path is.
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

// Returns the schema of a path parameter by its name. Parameters with unknown names are any text.
json PathParameterSchema(std::string_view name) {
  static constexpr Field kThread{
      .name = "thread_id", .type = FieldType::kThreadId, .required = true, .not_blank = true};
  static constexpr Field kOther{.name = {},
                                .type = FieldType::kText,
                                .required = true,
                                .not_blank = true,
                                .maximum = static_cast<int64_t>(kIdBytesMax)};
  const bool is_thread = name == "thread_id" || name == "conversation_id";
  json schema = SchemaOf(is_thread ? kThread : kOther);
  schema["type"] = "string";
  schema.erase("minimum");
  schema.erase("maximum");
  return schema;
}

// Returns an example for a path parameter that a client may choose: the thread and the message of
// the examples of runs. Empty for ids that the service makes.
std::string_view PathExample(std::string_view name) {
  if (name == "thread_id") return "tour";
  if (name == "message_id") return "tour-1";
  if (name == "model") return "support";
  return {};
}

void AppendPathParameters(json& parameters, std::string_view pattern) {
  for (size_t at = pattern.find('{'); at != std::string_view::npos; at = pattern.find('{', at)) {
    size_t end = pattern.find('}', at);
    std::string_view name = pattern.substr(at + 1, end - at - 1);
    json parameter = {
        {"name", name}, {"in", "path"}, {"required", true}, {"schema", PathParameterSchema(name)}};
    if (!PathExample(name).empty()) parameter["example"] = PathExample(name);
    parameters.push_back(std::move(parameter));
    at = end;
  }
}

// Describes a field of a query or a header.
json Described(Field field) {
  json described = {{"required", field.required}};
  if (!field.description.empty()) described["description"] = field.description;
  field.description = {};
  field.required = true;  // neither a query nor a header can contain null
  described["schema"] = SchemaOf(field);
  return described;
}

void AppendParameters(json& parameters, std::string_view place, std::span<const Field> fields) {
  for (const Field& field : fields) {
    json parameter = Described(field);
    parameter["name"] = field.name;
    parameter["in"] = place;
    parameters.push_back(std::move(parameter));
  }
}

void AppendMetadataParameters(json& parameters, const std::vector<std::string>& declared) {
  for (const std::string& name : declared) {
    parameters.push_back({{"name", "metadata." + name},
                          {"in", "query"},
                          {"required", false},
                          {"description", "Only threads whose metadata has this value"},
                          {"schema", {{"type", "string"}}}});
  }
}

json Parameters(const Route& route, const settings::Settings& settings) {
  json parameters = json::array();
  AppendPathParameters(parameters, route.pattern);
  if (route.shape.query != nullptr) {
    AppendParameters(parameters, "query", route.shape.query->fields);
  }
  if (route.shape.filters_metadata) {
    AppendMetadataParameters(parameters, settings.threads.indexed_metadata);
  }
  AppendParameters(parameters, "header", route.shape.request_headers);
  return parameters;
}

json RequestBody(const Route& route) {
  if (route.body == BodyKind::kStream) {
    json schema = {
        {"type", "object"},
        {"properties", {{"file", {{"type", "string"}, {"format", "binary"}, {"minLength", 1}}}}},
        {"required", {"file"}}};
    return {{"required", true},
            {"content", {{"multipart/form-data", {{"schema", std::move(schema)}}}}}};
  }
  json schema =
      route.shape.body != nullptr ? Reference(route.shape.body->name) : json{{"type", "object"}};
  const bool required = route.body == BodyKind::kJson;
  if (!required) schema = {{"anyOf", {std::move(schema), {{"type", "null"}}}}};
  json content = {{"schema", std::move(schema)}};
  if (!route.example.request.empty()) content["example"] = json::parse(route.example.request);
  return {{"required", required}, {"content", {{"application/json", std::move(content)}}}};
}

// Returns the schema of the envelope of successful responses.
json Envelope(std::string_view component) {
  json data = component.empty() ? json::object() : Reference(component);
  return {{"type", "object"},
          {"properties",
           {{"success", {{"const", true}}},
            {"data", std::move(data)},
            {"message", {{"type", "string"}}},
            {"timestamp", {{"type", "string"}}},
            {"metadata", Reference("Metadata")}}},
          {"required", {"success", "data", "metadata"}}};
}

json AnswerExample(const Route& route) {
  static constexpr const char* kTime = "2026-11-23T20:49:30.867895Z";
  return {{"success", true},
          {"data", json::parse(route.example.answer)},
          {"message", "OK"},
          {"timestamp", kTime},
          {"metadata",
           {{"request_id", "52b94408-f98f-4303-a2b1-e55e48cc45fd"},
            {"timestamp", kTime},
            {"message", "OK"}}}};
}

// Describes server-sent events, for which JSON Schema has no form.
json EventsContent(const Route& route) {
  return {{"schema", {{"type", "string"}}}, {"example", route.example.events}};
}

json StreamContent(const Route& route) {
  json lines = {{"schema", Reference(kStreamAnswer)}};
  if (!route.example.answer.empty()) lines["example"] = json::parse(route.example.answer);
  json events = lines;  // a stream of lines has this type by default
  if (!route.example.events.empty()) {
    events = EventsContent(route);
    events["x-event"] = Reference(kStreamAnswer);
  }
  return {{"text/event-stream", std::move(events)}, {"application/x-ndjson", std::move(lines)}};
}

// Returns the table of the façade that has the route; null: it is a route of this API.
const FacadeTable* FacadeOf(const Route& route) {
  for (const FacadeTable& table : Facades()) {
    if (table.facade == route.facade) return &table;
  }
  return nullptr;
}

json FacadeContent(const Route& route) {
  json content = json::object();
  if (!route.example.answer.empty()) {
    content["application/json"] = {{"schema", Reference(route.shape.data)},
                                   {"example", json::parse(route.example.answer)}};
  }
  if (!route.example.events.empty()) {
    content["text/event-stream"] = EventsContent(route);
    if (route.example.answer.empty()) {
      content["text/event-stream"]["x-event"] = Reference(route.shape.data);
    }
  }
  return content;
}

json Success(const Route& route) {
  if (route.facade != Facade::kNone && route.shape.data.empty()) {
    return {{"description", "Success, without a body"}};
  }
  if (route.facade != Facade::kNone) {
    return {{"description", "Success"}, {"content", FacadeContent(route)}};
  }
  if (route.transport != Transport::kHttp)
    return {{"description", "The connection is a WebSocket"}};
  if (route.shape.data == kStreamAnswer) {
    return {{"description", "Chunks, each sent as it is produced"},
            {"content", StreamContent(route)}};
  }
  if (route.shape.data == kBytesAnswer) {
    json bytes = {{"schema", {{"type", "string"}, {"format", "binary"}}}};
    return {{"description", "The bytes of the file, with its stored type"},
            {"content", {{"*/*", std::move(bytes)}}}};
  }
  json content = {{"schema", Envelope(route.shape.data)}};
  if (!route.example.answer.empty()) content["example"] = AnswerExample(route);
  return {{"description", "Success"}, {"content", {{"application/json", std::move(content)}}}};
}

json ErrorResponse(std::string_view schema) {
  return {{"description", "The request failed"},
          {"content", {{"application/json", {{"schema", Reference(schema)}}}}}};
}

json WithHeaders(json response, std::span<const Field> headers) {
  for (const Field& header : headers) {
    response["headers"][std::string(header.name)] = Described(header);
  }
  return response;
}

// Adds the responses to the conditional requests for a file.
void AppendFileResponses(const Route& route, json& responses) {
  static constexpr std::array kPartHeaders = {
      Field{.name = "Content-Range",
            .type = FieldType::kText,
            .description = "The bytes that follow, and the size of the file",
            .required = true},
  };
  responses["206"] =
      WithHeaders(WithHeaders(Success(route), route.shape.response_headers), kPartHeaders);
  responses["206"]["description"] = "The part of the file that `Range` names";
  responses["304"] = WithHeaders({{"description", "The client has the file, by `If-None-Match`"}},
                                 route.shape.response_headers);
}

json Responses(const Route& route) {
  json error = {{"$ref", "#/components/responses/Error"}};
  if (const FacadeTable* facade = FacadeOf(route)) error = ErrorResponse(facade->error_schema);
  const int status = route.transport == Transport::kHttp ? route.shape.status : 101;
  json responses = {
      {std::to_string(status), WithHeaders(Success(route), route.shape.response_headers)},
      {"4XX", error},
      {"5XX", error}};
  if (!route.shape.pending.empty()) {
    json pending = {
        {"description", "It is not over yet"},
        {"content", {{"application/json", {{"schema", Envelope(route.shape.pending)}}}}}};
    responses["202"] = WithHeaders(std::move(pending), route.shape.response_headers);
  }
  if (route.shape.may_be_empty) responses["204"] = {{"description", "There is no more"}};
  if (route.shape.data == kBytesAnswer) AppendFileResponses(route, responses);
  return responses;
}

json Operation(const Route& route, const settings::Settings& settings, bool guarded) {
  json operation = {{"operationId", OperationId(route)},
                    {"summary", route.summary},
                    {"description", route.description}};
  const bool has_permission = route.permission.resource != auth::Resource::kNone;
  operation["tags"] = {has_permission ? NameOf(route.permission.resource) : "public"};
  if (const FacadeTable* facade = FacadeOf(route)) operation["tags"] = {facade->name};
  if (json parameters = Parameters(route, settings); !parameters.empty()) {
    operation["parameters"] = std::move(parameters);
  }
  if (route.body != BodyKind::kNone) operation["requestBody"] = RequestBody(route);
  operation["responses"] = Responses(route);
  if (route.transport != Transport::kHttp) {
    json socket = {{"liveAudio", route.transport == Transport::kLiveSocket}};
    if (route.shape.body != nullptr) socket["clientFrame"] = Reference(route.shape.body->name);
    if (!route.shape.data.empty()) socket["serverFrame"] = Reference(route.shape.data);
    if (!route.example.request.empty()) socket["example"] = json::parse(route.example.request);
    operation["x-websocket"] = std::move(socket);
  }
  if (route.access == Access::kGuarded) {
    operation["x-permission"] = auth::ScopeOf(route.permission);
  } else if (guarded) {
    operation["security"] = json::array();
  }
  return operation;
}

json Paths(const settings::Settings& settings, bool guarded) {
  json paths = json::object();
  for (const Route& route : Routes()) {
    if (route.access == Access::kDocumentation) continue;
    const std::string path = PathOf(settings.facades, route);
    if (path.empty()) continue;
    paths[path][MethodKey(route.method)] = Operation(route, settings, guarded);
  }
  return paths;
}

json Schemas(const settings::FacadesSettings& facades) {
  json schemas = json::object();
  for (const Route& route : Routes()) {
    const FieldTable* body = PathOf(facades, route).empty() ? nullptr : route.shape.body;
    if (body != nullptr) schemas[std::string(body->name)] = SchemaOf(*body);
  }
  for (std::string_view text : {kMessageSchemas, kEnvelopeSchemas, kGraphSchemas, kRunSchemas,
                                kThreadSchemas, kMemorySchemas, kFileSchemas}) {
    schemas.update(json::parse(text));
  }
  for (const FacadeTable& facade : Facades()) {
    if (facade.settings(facades).enabled) schemas.update(json::parse(facade.schemas));
  }
  return schemas;
}

json SecuritySchemes() {
  return {{"bearer",
           {{"type", "http"},
            {"scheme", "bearer"},
            {"description",
             "WebSockets also take the token as the second of two sub-protocols, "
             "behind `service-bearer`, or as the parameter `token`."}}}};
}

}  // namespace

std::string OpenApiDocument(const settings::Settings& settings, std::string_view base_path) {
  using Authentication = settings::AuthenticationSettings::Method;
  const Authentication method = settings.authentication.method;
  // The document describes only credentials that the service checks itself, not those that nginx
  // checks.
  const bool guarded = method != Authentication::kNone && method != Authentication::kNginx;
  json document = {{"openapi", "3.1.0"},
                   {"info", {{"title", "Agent Graph"}, {"version", kVersion}}},
                   {"servers", {{{"url", base_path.empty() ? "/" : base_path}}}},
                   {"paths", Paths(settings, guarded)}};
  json& components = document["components"];
  components["schemas"] = Schemas(settings.facades);
  components["responses"]["Error"] = ErrorResponse("Error");
  if (guarded) {
    components["securitySchemes"] = SecuritySchemes();
    document["security"] = {{{"bearer", json::array()}}};
  }
  return document.dump();
}

}  // namespace agent_graph::api
