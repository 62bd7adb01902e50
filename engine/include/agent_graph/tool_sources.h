// Tools without code of yours: calls of an HTTP service, and the tools of an MCP server.
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
// ${NAME} in a URL or a header's value is a variable of the environment that service.json sees;
// ${NAME:-text} has a default. A variable that is not set makes nginx refuse the graph.
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

// One request per call. Only arguments that `parameters_json` names under "properties" are sent:
// those in the URL's {braces} there, percent-encoded, so that they can change neither the host nor
// the path's structure; the others in the query (GET) or as a JSON object in the body. Redirects
// are not followed; any status but 2xx is a failed result.
struct HttpTool {
  std::string name = {};  // letters, digits, '_' and '-', at most 64
  std::string description = {};
  std::string method = "GET";  // GET, POST, PUT, PATCH or DELETE
  // {name} may stand behind the host, in the path or the query. A part of the query whose argument
  // is absent is left out.
  std::string url = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string parameters_json = R"({"type":"object","properties":{}})";  // JSON Schema of arguments
  // JSON pointer to the part of a JSON reply that is the result, e.g. "/data/items"; empty: all.
  std::string result_pointer = {};
  // True: calling it twice does no harm. GET always is. Any other call carries the header
  // Idempotency-Key, the same text if this very call is ever made again.
  bool idempotent = false;
  std::chrono::milliseconds timeout = kHttpToolTimeoutDefault;
  size_t reply_bytes_max = kHttpToolReplyBytesDefault;
  std::vector<std::string> tags = {};
};

// A tool that the client runs. The model's call pauses the run after the tool node, with a
// remote_tool_call block for the client; the next run on the thread brings the result and goes on.
struct RemoteTool {
  std::string name = {};  // letters, digits, '_' and '-', at most 64
  std::string description = {};
  std::string parameters_json = R"({"type":"object","properties":{}})";  // JSON Schema of arguments
};

inline constexpr std::chrono::milliseconds kMcpCallTimeoutDefault{60'000};
inline constexpr std::chrono::milliseconds kMcpDiscoveryTimeoutDefault{5'000};
inline constexpr std::chrono::milliseconds kMcpRefreshDefault{300'000};

// How the service authenticates at an MCP server: as itself, by OAuth 2.1, without a person. It
// gets access tokens from an authorization server, keeps them in memory and renews them. Values may
// hold
// ${NAME}.
struct McpOAuth {
  std::string client_id = {};  // empty: no OAuth
  // What proves that it is this client: one of the two, or neither.
  std::string client_secret = {};
  std::string private_key = {};  // PEM: RSA, P-256, P-384 or Ed25519
  std::string key_id = {};       // by which the authorization server knows the private key
  // Exchanged for access tokens; empty: the grant is "client_credentials".
  std::string refresh_token = {};
  std::vector<std::string> scopes = {};  // empty: those that the server asks for
  // The authorization server that issued the credentials; empty: the first one that the MCP server
  // names, from then on no other.
  std::string issuer = {};
  std::string token_endpoint = {};  // empty: the issuer's metadata names it
  // "client_secret_basic", "client_secret_post", "private_key_jwt" or "none"; empty: by what the
  // authorization server supports.
  std::string authentication = {};
};

// How a question is handled that an MCP server asks the user during a call.
enum class Elicitation : uint8_t {
  // The run pauses with it, where the call can go on afterwards: with servers of revision
  // 2026-07-28, in sessions whose streams have event ids, and for tools that are idempotent. Other
  // questions are cancelled.
  kAsk,
  kRepeat,   // also for tools that are not idempotent, which are called again with the answer
  kDecline,  // the server is not offered to ask
};

// A server of the Model Context Protocol: reached over streamable HTTP, or a program that each
// worker has run for it and speaks with over standard input and output. Each worker asks it for its
// tools when they are first needed, again when it says that they changed, and after `refresh`.
// While it fails it contributes no tools, and nothing else happens.
struct McpServer {
  std::string name = {};  // in logs
  // Either where it is,
  std::string url = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // or the program: a path, or a name that is looked up in PATH. It gets PATH, HOME, LANG, TZ and
  // their like from the environment that service.json sees, and what is named here; ${NAME} in an
  // argument or a value is a variable of that environment.
  std::string command = {};
  std::vector<std::string> arguments = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string directory = "/";          // where it starts
  std::string prefix = {};              // put before the name of each of its tools
  std::vector<std::string> tools = {};  // only these, by the server's names; empty: all
  std::chrono::milliseconds timeout = kMcpCallTimeoutDefault;  // of one call
  // How long a run waits for the list of tools.
  std::chrono::milliseconds discovery_timeout = kMcpDiscoveryTimeoutDefault;
  std::chrono::milliseconds refresh = kMcpRefreshDefault;
  std::vector<std::string> tags = {};  // of each of its tools
  // Which revisions of the protocol are tried: "auto" asks with "server/discover" (2026-07-28) and
  // then with "initialize" (2025-11-25 and older); "2026-07-28" and "2025-11-25" try one of the
  // two.
  std::string protocol = "auto";
  McpOAuth oauth = {};  // with `url` only
  Elicitation elicitation = Elicitation::kAsk;
  // In sessions, over HTTP: each call that may pause opens its own session. For servers that send
  // their questions on the session's stream instead of the call's.
  bool session_per_call = false;
};

}  // namespace agent_graph
