#include "tools/catalog.h"

#include <unordered_set>
#include <utility>

#include "base/environment.h"
#include "net/http_client.h"
#include "process/process.h"
#include "tools/http/http_tool.h"
#include "tools/http/url_template.h"
#include "tools/mcp/http/streamable_client.h"
#include "tools/mcp/oauth/settings.h"
#include "tools/mcp/source.h"
#include "tools/mcp/stdio/stdio_client.h"

namespace agent_graph::tools {
namespace {

Status Explain(const std::string& node, const std::string& what, const Status& status) {
  return Status(StatusCode::kInvalidArgument,
                "node \"" + node + "\", " + what + ": " + status.message());
}

// Variables that every program expects. No others are passed on, because our environment may
// contain secrets.
constexpr std::string_view kPassedOn[] = {"PATH", "HOME",   "USER",   "LOGNAME", "LANG",
                                          "TZ",   "TMPDIR", "LC_ALL", "SHELL"};
constexpr char kDefaultPath[] = "/usr/local/bin:/usr/bin:/bin";

Result<mcp::StreamableClient::Options> ConnectionOf(
    const McpServer& server, const Environment& environment,
    const std::shared_ptr<const net::HttpClient>& http) {
  mcp::StreamableClient::Options options;
  options.eras = mcp::ErasOf(server.protocol).value_or(mcp::Eras());
  options.elicitation = server.elicitation != Elicitation::kDecline;
  options.session_per_call = server.session_per_call;
  mcp::Transport::Options& transport = options.transport;
  Result<UrlTemplate> url = UrlTemplate::Parse(server.url, environment, transport.secrets);
  if (!url.ok()) {
    return Status(StatusCode::kInvalidArgument, "url: " + url.status().message());
  }
  if (!url->arguments().empty()) {
    return Status(StatusCode::kInvalidArgument, "url: takes no arguments");
  }
  AG_ASSIGN_OR_RETURN(transport.url, ExpandVariables(server.url, environment));
  AG_ASSIGN_OR_RETURN(transport.headers,
                      ExpandHeaders(server.headers, environment, transport.secrets));
  if (!server.oauth.client_id.empty()) {
    AG_ASSIGN_OR_RETURN(
        transport.authorizer,
        mcp::oauth::MakeAuthorizer(server, transport.url, environment, http, transport.secrets));
  }
  return options;
}

Result<mcp::StdioClient::Options> ProgramOf(const McpServer& server,
                                            const Environment& environment) {
  mcp::StdioClient::Options options;
  options.eras = mcp::ErasOf(server.protocol).value_or(mcp::Eras());
  options.start_timeout = server.discovery_timeout;
  process::ProcessOptions& program = options.program;
  program.directory = server.directory;
  program.arguments.push_back(server.command);
  for (const std::string& argument : server.arguments) {
    std::vector<std::string> values;
    AG_ASSIGN_OR_RETURN(std::string text, ExpandVariables(argument, environment, &values));
    // Models need the paths that a program's results name, and these begin with its folder.
    if (!text.starts_with('/')) {
      options.secrets.insert(options.secrets.end(), values.begin(), values.end());
    }
    program.arguments.push_back(std::move(text));
  }
  program.environment["PATH"] = kDefaultPath;
  for (std::string_view name : kPassedOn) {
    const auto found = environment.find(name);
    if (found != environment.end()) program.environment[found->first] = found->second;
  }
  for (const auto& [name, value] : server.environment) {
    AG_ASSIGN_OR_RETURN(program.environment[name],
                        ExpandVariables(value, environment, &options.secrets));
  }
  return options;
}

Result<std::shared_ptr<mcp::Source>> MakeSource(const McpServer& server,
                                                const Environment& environment,
                                                std::shared_ptr<const net::HttpClient> http,
                                                std::shared_ptr<const process::Launcher> launcher,
                                                std::shared_ptr<const Catalog::LogFunction> log) {
  if (server.command.empty()) {
    AG_ASSIGN_OR_RETURN(mcp::StreamableClient::Options options,
                        ConnectionOf(server, environment, http));
    return mcp::Source::Create(server, std::move(options), std::move(http), std::move(log));
  }
  AG_ASSIGN_OR_RETURN(mcp::StdioClient::Options options, ProgramOf(server, environment));
  return mcp::Source::Create(server, std::move(options), std::move(launcher), std::move(log));
}

}  // namespace

Result<std::unique_ptr<Catalog>> Catalog::Create(
    const std::vector<NodeSources>& nodes, const Environment& environment,
    const std::shared_ptr<const process::Launcher>& launcher) {
  const auto client = std::make_shared<const net::HttpClient>(environment);
  std::unique_ptr<Catalog> catalog(new Catalog);
  for (const NodeSources& node : nodes) {
    if (node.http_tools.empty() && node.mcp_servers.empty()) continue;
    NodeTools& tools = catalog->nodes_[node.node];
    for (const HttpTool& declared : node.http_tools) {
      Result<Tool> tool = MakeHttpTool(declared, environment, client);
      if (!tool.ok()) {
        return Explain(node.node, "tool \"" + declared.name + "\"", tool.status());
      }
      auto entry = std::make_shared<CatalogTool>();
      entry->tool = *std::move(tool);
      AG_ASSIGN_OR_RETURN(entry->schema, JsonSchema::Compile(declared.parameters_json));
      tools.http_tools.push_back(std::move(entry));
    }
    for (const McpServer& server : node.mcp_servers) {
      auto source = MakeSource(server, environment, client, launcher, catalog->log_);
      if (!source.ok()) {
        return Explain(node.node, "MCP server \"" + server.name + "\"", source.status());
      }
      tools.servers.push_back(*std::move(source));
    }
  }
  return catalog;
}

Catalog::~Catalog() = default;

void Catalog::LogTo(LogFunction log) {
  *log_ = std::move(log);
}

ToolList Catalog::ToolsOf(std::string_view node, const runtime::Cancellation& cancellation,
                          Deadline deadline) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return {};
  ToolList list = found->second.http_tools;
  if (found->second.servers.empty()) return list;
  // All servers at once, then each in turn.
  for (const auto& server : found->second.servers) server->Prepare();
  std::unordered_set<std::string_view> names;
  for (const CatalogToolPtr& tool : list) names.insert(tool->tool.name);
  for (const auto& server : found->second.servers) {
    for (CatalogToolPtr& tool : server->Tools(cancellation, deadline)) {
      if (names.insert(tool->tool.name).second) list.push_back(std::move(tool));
    }
  }
  return list;
}

void Catalog::Close(runtime::Runtime& runtime) {
  for (const auto& [name, node] : nodes_) {
    for (const auto& server : node.servers) server->Close(runtime);
  }
}

}  // namespace agent_graph::tools
