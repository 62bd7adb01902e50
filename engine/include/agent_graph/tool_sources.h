// Tools that need no code of yours: calls of an HTTP service, and the tools of an MCP server.
//
//   graph.AddToolNode("TOOLS", {});
//   graph.AddHttpTool("TOOLS", {
//       .name = "get_order",
//       .description = "One order with its state.",
//       .url = "https://shop.example.com/v1/orders/{order_id}?fields={fields}",
//       .headers = {{"Authorization", "Bearer ${SHOP_TOKEN}"}},
//       .parameters_json = R"({"type":"object","required":["order_id"],"properties":{
//                              "order_id":{"type":"string"},"fields":{"type":"string"}}})"});
//   graph.AddMcpServer("TOOLS", {.name = "files", .url = "http://127.0.0.1:3001/mcp"});
//
// ${NAME} in a URL or in the value of a header is an environment variable, as service.json sees it;
// ${NAME:-text} has a default. If a variable without a default is not set, nginx refuses the graph.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent_graph/export.h"

namespace agent_graph {

inline constexpr std::chrono::milliseconds kHttpToolTimeoutDefault{30'000};
inline constexpr size_t kHttpToolReplyBytesDefault = 256 * 1024;

// A tool that sends one HTTP request per call. Only the arguments under "properties" of
// `parameters_json` are sent. Those in {braces} in the URL are percent-encoded there, so they can
// change neither the host nor the structure of the path; the others go into the query (GET) or into
// the body as a JSON object. Redirects are not followed. Any status but 2xx is a failed result.
struct HttpTool {
  std::string name = {};  // letters, digits, '_' and '-', at most 64
  std::string description = {};
  std::string method = "GET";  // GET, POST, PUT, PATCH or DELETE
  // {name} may be used in the path and the query, not in the host. If the argument is absent, its
  // part of the query is left out.
  std::string url = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string parameters_json = R"({"type":"object","properties":{}})";  // JSON Schema of arguments
  // JSON pointer to the part of a JSON reply that is the result, e.g. "/data/items"; empty: all of
  // it.
  std::string result_pointer = {};
  // True: a repeated call does no harm. GET is always idempotent. Other calls carry the header
  // Idempotency-Key, whose value stays the same if the call is repeated.
  bool idempotent = false;
  std::chrono::milliseconds timeout = kHttpToolTimeoutDefault;
  size_t reply_bytes_max = kHttpToolReplyBytesDefault;
  std::vector<std::string> tags = {};
};

// A tool that the client runs. When the model calls it, the run pauses after the tool node and the
// client receives a remote_tool_call block; the next run on the thread brings the result and
// continues.
struct RemoteTool {
  std::string name = {};  // letters, digits, '_' and '-', at most 64
  std::string description = {};
  std::string parameters_json = R"({"type":"object","properties":{}})";  // JSON Schema of arguments
};

inline constexpr std::chrono::milliseconds kMcpCallTimeoutDefault{60'000};
inline constexpr std::chrono::milliseconds kMcpDiscoveryTimeoutDefault{5'000};
inline constexpr std::chrono::milliseconds kMcpRefreshDefault{300'000};

// OAuth 2.1 credentials for an MCP server: the service authenticates as itself, without a user. It
// requests access tokens from an authorization server, keeps them in memory and renews them. Values
// may contain ${NAME}.
struct McpOAuth {
  std::string client_id = {};  // empty: no OAuth
  // Client authentication: set one of the next two, or neither.
  std::string client_secret = {};
  std::string private_key = {};  // PEM: RSA, P-256, P-384 or Ed25519
  std::string key_id = {};       // the authorization server's id of the private key
  // Used to get access tokens; empty: the grant is "client_credentials".
  std::string refresh_token = {};
  std::vector<std::string> scopes = {};  // empty: the scopes that the MCP server asks for
  // The authorization server that issued the credentials. Empty: the first one that the MCP server
  // names; from then on only that one is used.
  std::string issuer = {};
  std::string token_endpoint = {};  // empty: taken from the issuer's metadata
  // "client_secret_basic", "client_secret_post", "private_key_jwt" or "none"; empty: chosen from
  // the methods that the authorization server supports.
  std::string authentication = {};
};

// Handling of the questions that an MCP server asks the user during a call.
enum class Elicitation : uint8_t {
  // The run pauses with the question, if the call can be continued with the answer: with servers of
  // revision 2026-07-28, in sessions whose streams have event ids, and for tools that are
  // idempotent. Other questions are cancelled.
  kAsk,
  kRepeat,   // the same, and tools that are not idempotent are called again with the answer
  kDecline,  // the server is not offered elicitation, so it sends no questions
};

// A server of the Model Context Protocol: reached over streamable HTTP, or a program that each
// worker has run for it and speaks with over standard input and output. Each worker asks it for its
// tools when they are first needed, again when it says that they changed, and after `refresh`.
// While it fails it contributes no tools, and nothing else happens.
struct McpServer {
  std::string name = {};  // for logs
  // Set either `url` ...
  std::string url = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // ... or `command`: a path, or a name that is looked up in PATH. The program receives PATH, HOME,
  // LANG, TZ and similar variables of the environment that service.json sees, and the variables in
  // `environment`. ${NAME} in an argument or a value is a variable of that environment.
  std::string command = {};
  std::vector<std::string> arguments = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string directory = "/";          // working directory
  std::string prefix = {};              // put before the name of each of its tools
  std::vector<std::string> tools = {};  // only these, by the server's names; empty: all
  std::chrono::milliseconds timeout = kMcpCallTimeoutDefault;  // limit for one call
  // How long a run waits for the list of tools.
  std::chrono::milliseconds discovery_timeout = kMcpDiscoveryTimeoutDefault;
  std::chrono::milliseconds refresh = kMcpRefreshDefault;
  std::vector<std::string> tags = {};  // tags of each of its tools
  // Protocol revisions to try. "auto": first "server/discover" (2026-07-28), then "initialize"
  // (2025-11-25 and older). "2026-07-28" or "2025-11-25": only that revision.
  std::string protocol = "auto";
  McpOAuth oauth = {};  // with `url` only
  Elicitation elicitation = Elicitation::kAsk;
  // In sessions, over HTTP: each call that may pause opens its own session. For servers that send
  // their questions on the session's stream instead of the call's.
  bool session_per_call = false;
};

}  // namespace agent_graph
