#include "graph/tool_declarations.h"

#include "agent_graph/json.h"
#include "tools/http/http_tool.h"
#include "tools/local/builtin.h"
#include "tools/mcp/oauth/settings.h"
#include "tools/mcp/protocol/revisions.h"

namespace agent_graph::graph {
namespace {

constexpr int64_t kTimeoutMillisecondsMax = 3'600'000;
constexpr int64_t kReplyBytesMax = 4 * 1024 * 1024;

std::chrono::milliseconds ReadTimeout(ObjectReader& reader, const char* key,
                                      std::chrono::milliseconds otherwise,
                                      int64_t maximum = kTimeoutMillisecondsMax) {
  return std::chrono::milliseconds(reader.Integer(key, otherwise.count(), 1, maximum));
}

// Reports the first mistake of an inner object to the reader of the outer object.
void Check(ObjectReader& outer, ObjectReader& inner) {
  const Status status = inner.Finish();
  if (status.ok()) return;
  const size_t colon = status.message().find(": ");  // end of the path
  outer.Fail(status.message().substr(0, colon), status.message().substr(colon + 2));
}

HttpTool ReadHttpTool(ObjectReader& outer, const json& value, std::string path) {
  ObjectReader reader(value, std::move(path));
  if (value.contains("function")) {  // a declaration of OpenAI's API
    reader.Fail(reader.PathOf("function"),
                "unknown key; name, description and parameters belong beside the url");
  }
  HttpTool tool;
  tool.name = reader.RequiredText("name");
  tool.description = reader.Text("description", "");
  tool.method = reader.Text("method", tool.method);
  tool.url = reader.RequiredText("url");
  tool.headers = reader.TextMap("headers");
  if (reader.Value("parameters") != nullptr) tool.parameters_json = reader.ObjectText("parameters");
  tool.result_pointer = reader.Text("result", "");
  tool.idempotent = reader.Bool("idempotent", false);
  tool.timeout = ReadTimeout(reader, "timeout_ms", tool.timeout);
  tool.tags = reader.TextList("tags");
  tool.reply_bytes_max = static_cast<size_t>(reader.Integer(
      "reply_bytes_max", static_cast<int64_t>(tool.reply_bytes_max), 1, kReplyBytesMax));
  if (reader.ok()) {
    if (const Status status = tools::CheckHttpTool(tool); !status.ok()) {
      const size_t colon = status.message().find(": ");
      const std::string field = status.message().substr(0, colon);
      // The only field whose name in JSON is another one.
      reader.Fail(reader.PathOf(field == "result_pointer" ? "result" : field),
                  status.message().substr(colon + 2));
    }
  }
  Check(outer, reader);
  return tool;
}

McpOAuth ReadOAuth(ObjectReader& outer, const json& value, std::string path) {
  ObjectReader reader(value, std::move(path));
  McpOAuth oauth;
  oauth.client_id = reader.RequiredText("client_id");
  oauth.client_secret = reader.Text("client_secret", "");
  oauth.private_key = reader.Text("private_key", "");
  oauth.key_id = reader.Text("key_id", "");
  oauth.refresh_token = reader.Text("refresh_token", "");
  oauth.scopes = reader.TextList("scopes");
  oauth.issuer = reader.Text("issuer", "");
  oauth.token_endpoint = reader.Text("token_endpoint", "");
  oauth.authentication = reader.Text("authentication", "");
  Check(outer, reader);
  return oauth;
}

Elicitation ReadElicitation(ObjectReader& reader) {
  const std::string text = reader.Text("elicitation", "ask");
  if (text == "repeat") return Elicitation::kRepeat;
  if (text == "decline") return Elicitation::kDecline;
  if (text != "ask") reader.Fail(reader.PathOf("elicitation"), "must be ask, repeat or decline");
  return Elicitation::kAsk;
}

McpServer ReadServer(ObjectReader& outer, const json& value, std::string path) {
  ObjectReader reader(value, std::move(path));
  McpServer server;
  server.name = reader.RequiredText("name");
  server.url = reader.Text("url", "");
  server.headers = reader.TextMap("headers");
  server.command = reader.Text("command", "");
  server.arguments = reader.TextList("args");
  server.environment = reader.TextMap("env");
  server.directory = reader.Text("cwd", server.directory);
  if (server.url.empty() == server.command.empty()) {
    reader.Fail(reader.path(), "needs either a url or a command");
  }
  if (!server.command.starts_with('/') && server.command.find(' ') != std::string::npos) {
    reader.Fail(reader.PathOf("command"), "must be a program alone; its arguments belong in args");
  }
  if (!server.directory.starts_with('/')) reader.Fail(reader.PathOf("cwd"), "must be absolute");
  server.prefix = reader.Text("prefix", "");
  server.tools = reader.TextList("tools");
  server.tags = reader.TextList("tags");
  server.timeout = ReadTimeout(reader, "timeout_ms", server.timeout);
  server.discovery_timeout =
      ReadTimeout(reader, "discovery_timeout_ms", server.discovery_timeout, 60'000);
  server.refresh = ReadTimeout(reader, "refresh_ms", server.refresh, 24 * kTimeoutMillisecondsMax);
  server.protocol = reader.Text("protocol", server.protocol);
  if (reader.ok() && !tools::mcp::ErasOf(server.protocol)) {
    reader.Fail(reader.PathOf("protocol"), "must be auto, 2026-07-28 or 2025-11-25");
  }
  server.elicitation = ReadElicitation(reader);
  server.session_per_call = reader.Bool("session_per_call", false);
  if (server.session_per_call && server.url.empty()) {
    reader.Fail(reader.PathOf("session_per_call"), "needs a url");
  }
  if (const json* oauth = reader.Value("oauth")) {
    server.oauth = ReadOAuth(reader, *oauth, reader.PathOf("oauth"));
    if (const Status status = tools::mcp::oauth::CheckOAuth(server); reader.ok() && !status.ok()) {
      const size_t colon = status.message().find(": ");
      reader.Fail(reader.PathOf("oauth." + status.message().substr(0, colon)),
                  status.message().substr(colon + 2));
    }
  }
  Check(outer, reader);
  return server;
}

RemoteTool ReadRemoteTool(ObjectReader& outer, const json& value, std::string path) {
  ObjectReader reader(value, std::move(path));
  RemoteTool tool;
  tool.name = reader.RequiredText("name");
  tool.description = reader.Text("description", "");
  if (reader.Value("parameters") != nullptr) tool.parameters_json = reader.ObjectText("parameters");
  Check(outer, reader);
  return tool;
}

}  // namespace

ToolNode ReadTools(ObjectReader& reader) {
  ToolNode node;
  const std::vector<const json*> tools = reader.List("tools");
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string path = reader.PathOf("tools") + "." + std::to_string(i);
    if (tools[i]->is_object()) {
      node.http_tools.push_back(ReadHttpTool(reader, *tools[i], path));
    } else if (!tools[i]->is_string()) {
      reader.Fail(path, "must be the name of a built-in tool, or an object");
    } else if (const Tool* tool = tools::FindBuiltin(tools[i]->get_ref<const std::string&>())) {
      node.tools.push_back(*tool);
    } else {
      reader.Fail(path, "there is no tool \"" + tools[i]->get<std::string>() +
                            "\"; valid names: " + JoinNames(tools::BuiltinNames()));
    }
  }
  if (const json* servers = reader.Value("mcp_servers");
      servers != nullptr && servers->is_object()) {
    // Configurations of other programs have an object here.
    reader.Fail(
        reader.PathOf("mcp_servers"),
        "must be an array, such as [{\"name\": \"files\", \"command\": \"npx\", \"args\": []}]");
  }
  const std::vector<const json*> servers = reader.List("mcp_servers");
  for (size_t i = 0; i < servers.size(); ++i) {
    node.mcp_servers.push_back(
        ReadServer(reader, *servers[i], reader.PathOf("mcp_servers") + "." + std::to_string(i)));
  }
  const std::vector<const json*> remote = reader.List("remote_tools");
  for (size_t i = 0; i < remote.size(); ++i) {
    node.remote_tools.push_back(ReadRemoteTool(
        reader, *remote[i], reader.PathOf("remote_tools") + "." + std::to_string(i)));
  }
  return node;
}

}  // namespace agent_graph::graph
