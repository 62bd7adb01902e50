#include "api/openapi/document.h"

#include <gtest/gtest.h>

#include <set>

#include "agent_graph/json.h"
#include "api/routes.h"

namespace agent_graph::api {
namespace {

json Document(bool guarded, std::string_view base_path = "") {
  settings::Settings settings;
  if (guarded) {
    settings.authentication.method = settings::AuthenticationSettings::Method::kJwt;
  }
  return json::parse(OpenApiDocument(settings, base_path));
}

void CollectReferences(const json& node, std::set<std::string>& references) {
  if (node.is_object() && node.contains("$ref")) references.insert(node["$ref"]);
  for (const json& child : node) {
    if (child.is_structured()) CollectReferences(child, references);
  }
}

TEST(OpenApiDocument, HoldsEveryRouteButThePagesThatShowIt) {
  json paths = Document(true)["paths"];
  size_t operations = 0;
  for (const json& path : paths) operations += path.size();
  size_t expected = 0;
  for (const Route& route : Routes()) {
    if (route.access == Access::kDocumentation) continue;
    ++expected;
    ASSERT_TRUE(paths.contains(route.pattern)) << route.pattern;
  }
  EXPECT_EQ(operations, expected);
  EXPECT_FALSE(paths.contains("/docs"));
}

TEST(OpenApiDocument, HasEverythingItRefersTo) {
  json document = Document(true);
  std::set<std::string> references;
  CollectReferences(document, references);
  EXPECT_GT(references.size(), 20u);
  for (const std::string& reference : references) {
    EXPECT_TRUE(document.contains(json::json_pointer(reference.substr(1)))) << reference;
  }
}

TEST(OpenApiDocument, NamesPermissionsParametersAndBodies) {
  json paths = Document(true)["paths"];
  const json& invoke = paths["/v1/graph/invoke"]["post"];
  EXPECT_EQ(invoke["x-permission"], "graph:invoke");
  EXPECT_EQ(invoke["requestBody"]["required"], true);
  EXPECT_EQ(invoke["requestBody"]["content"]["application/json"]["schema"]["$ref"],
            "#/components/schemas/RunRequest");
  const json& message = paths["/v1/threads/{thread_id}/messages/{message_id}"]["delete"];
  EXPECT_EQ(message["parameters"][0]["name"], "thread_id");
  EXPECT_EQ(message["parameters"][1]["name"], "message_id");
  EXPECT_EQ(message["requestBody"]["required"], false);
  const json& list = paths["/v1/threads"]["get"]["parameters"];
  EXPECT_EQ(list[2]["name"], "limit");
  EXPECT_EQ(list[2]["schema"]["default"], 100);
  EXPECT_EQ(list[2]["schema"]["minimum"], 1);
  EXPECT_EQ(list[1]["name"], "offset");
  EXPECT_EQ(list[1]["schema"]["default"], 0);
  EXPECT_EQ(list[1]["schema"]["minimum"], 0);
  EXPECT_EQ(paths["/v1/graph/ws"]["get"]["x-websocket"]["clientFrame"]["$ref"],
            "#/components/schemas/RunFrame");
}

TEST(OpenApiDocument, DistinguishesServerSentEventsFromLines) {
  json paths = Document(true)["paths"];
  const auto content = [&](const char* path, const char* method) -> const json& {
    return paths[path][method]["responses"]["200"]["content"];
  };
  const json lines = {{"$ref", "#/components/schemas/StreamChunk"}};
  const json& run = content("/v1/threads/{thread_id}/runs/{run_id}/stream", "get");
  EXPECT_EQ(run["text/event-stream"]["schema"], (json{{"type", "string"}}));
  EXPECT_EQ(run["text/event-stream"]["x-event"], lines);
  EXPECT_EQ(run["application/x-ndjson"]["schema"], lines);
  const json& graph = content("/v1/graph/stream", "post");
  EXPECT_EQ(graph["text/event-stream"]["schema"], lines) << "lines with the type of events";
  EXPECT_EQ(graph["application/x-ndjson"]["schema"], lines);
}

// The names of an operation's parameters in a place ("header", "query").
std::set<std::string> NamesOf(const json& operation, std::string_view place) {
  std::set<std::string> names;
  for (const json& parameter : operation["parameters"]) {
    if (parameter["in"] == place) names.insert(parameter["name"]);
  }
  return names;
}

TEST(OpenApiDocument, NamesHeadersOfRequestsAndResponses) {
  const json paths = Document(true)["paths"];
  for (const char* path :
       {"/v1/graph/invoke", "/v1/graph/stream", "/v1/graph/runs", "/openai/v1/responses"}) {
    EXPECT_TRUE(NamesOf(paths[path]["post"], "header").contains("Idempotency-Key")) << path;
  }
  const json& started = paths["/v1/graph/runs"]["post"]["responses"]["202"];
  EXPECT_EQ(started["headers"]["Location"]["schema"], (json{{"type", "string"}}));
  const json& stream = paths["/v1/threads/{thread_id}/runs/{run_id}/stream"]["get"];
  EXPECT_EQ(NamesOf(stream, "header"), std::set<std::string>{"Last-Event-ID"});
  const json& wait = paths["/v1/threads/{thread_id}/runs/{run_id}/wait"]["get"];
  EXPECT_TRUE(wait["responses"]["202"]["headers"].contains("Location"));
}

TEST(OpenApiDocument, DescribesConditionalRequestsForFiles) {
  const json paths = Document(true)["paths"];
  const json& file = paths["/v1/files/{file_id}"]["get"];
  EXPECT_EQ(NamesOf(file, "header"), (std::set<std::string>{"If-None-Match", "If-Range", "Range"}));
  const json& responses = file["responses"];
  EXPECT_TRUE(responses["200"]["headers"].contains("ETag"));
  EXPECT_FALSE(responses["200"]["headers"].contains("Content-Range"));
  EXPECT_EQ(responses["206"]["content"], responses["200"]["content"]);
  EXPECT_EQ(responses["206"]["headers"]["Content-Range"]["required"], true);
  EXPECT_TRUE(responses["304"]["headers"].contains("ETag"));
  EXPECT_FALSE(responses["304"].contains("content"));
}

TEST(OpenApiDocument, NamesTheMetadataThatTheSettingsDeclare) {
  settings::Settings settings;
  settings.threads.indexed_metadata = {"topic", "team"};
  const json paths = json::parse(OpenApiDocument(settings, ""))["paths"];
  const std::set<std::string> names = NamesOf(paths["/v1/threads"]["get"], "query");
  EXPECT_TRUE(names.contains("metadata.topic") && names.contains("metadata.team"));
  EXPECT_FALSE(
      NamesOf(Document(false)["paths"]["/v1/threads"]["get"], "query").contains("metadata.topic"));
}

TEST(OpenApiDocument, AsksForATokenWhereTheServiceDoes) {
  json guarded = Document(true);
  EXPECT_TRUE(guarded.contains("security"));
  EXPECT_EQ(guarded["paths"]["/ping"]["get"]["security"], json::array());
  EXPECT_FALSE(guarded["paths"]["/v1/graph"]["get"].contains("security"));
  json open = Document(false);
  EXPECT_FALSE(open.contains("security"));
  EXPECT_FALSE(open["components"].contains("securitySchemes"));
}

TEST(OpenApiDocument, ContainsTheBasePath) {
  EXPECT_EQ(Document(false)["servers"][0]["url"], "/");
  EXPECT_EQ(Document(false, "/support")["servers"][0]["url"], "/support");
}

TEST(OpenApiDocument, DistinguishesOperations) {
  std::set<std::string> ids;
  json paths = Document(false)["paths"];
  for (const json& path : paths) {
    for (const json& operation : path) {
      EXPECT_TRUE(ids.insert(operation["operationId"]).second) << operation["operationId"];
    }
  }
  EXPECT_TRUE(ids.contains("get_v1_threads_thread_id"));
}

}  // namespace
}  // namespace agent_graph::api
