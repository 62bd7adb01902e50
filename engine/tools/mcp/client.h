// A connection to an MCP server, whatever carries it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "base/clock.h"
#include "base/status.h"
#include "net/http_client.h"
#include "runtime/cancellation.h"
#include "tools/call_input.h"
#include "tools/mcp/elicitation.h"
#include "tools/mcp/protocol/json_rpc.h"

namespace agent_graph::tools::mcp {

inline constexpr size_t kListPagesMax = 32;
inline constexpr size_t kListedToolsMax = 4096;
inline constexpr size_t kListBytesMax = 8 * 1024 * 1024;  // of all pages as JSON

// How long the caller of a request waits.
struct Patience {
  const runtime::Cancellation& cancellation;
  Deadline deadline = kNoDeadline;
};

// A request, or what of it does not depend on the connection.
struct Outgoing {
  const char* method = "";
  json params = json::object();
  std::string name = {};          // of the tool that is called
  net::HttpHeaders headers = {};  // arguments of the tool that are headers, too, over HTTP
  // Answers the server's questions during the request; null: they are refused.
  SessionQuestions* questions = nullptr;
  bool may_pause = false;  // the server may answer with questions
};

// One call of a tool.
struct ToolCall {
  std::string name;  // as the server knows it
  json arguments;
  net::HttpHeaders headers = {};
  CallInput* input = nullptr;  // null: the user cannot be asked
  bool may_repeat = false;     // calling it twice does no harm
};

struct ToolReply {
  json result;                 // content, structuredContent, isError; null: the call pauses
  std::string cancelled = {};  // why a question was cancelled; empty: none was
};

struct ListedTools {
  std::vector<json> tools;             // objects with name, description, inputSchema
  std::chrono::milliseconds fresh{0};  // how long the server says that they stay so; 0: it does not
  bool marks_headers = false;          // "x-mcp-header" in their schemas has a meaning
};

// Used by fibers of several engine threads at once. The connection begins with the first request
// and begins anew when it was lost.
//
// Failures: kCancelled, kDeadlineExceeded, kUnavailable (no connection, a broken stream, a program
// that ended), kResourceExhausted (a reply past its bound), kInvalidArgument (the server refused;
// the text is its own).
class Client {
 public:
  virtual ~Client() = default;

  // Every page of tools/list.
  Result<ListedTools> ListTools(const Patience& patience);
  // The result of tools/call. A call that pauses sets `pause` of its input. When the caller gives
  // up, the server gets a notification.
  Result<ToolReply> CallTool(ToolCall call, const Patience& patience);

  // The server announces changes of its tools.
  virtual bool announces_changes() const = 0;
  // It announces them, or asks the user, on a stream that the client has to open.
  virtual bool wants_listener() const = 0;
  // Reads what the server sends by itself until its stream ends. Ok: the stream may be opened again
  // after so long; kNotFound: there is none, and the client wants no listener any more.
  virtual Result<std::chrono::milliseconds> Listen(const Patience& patience) = 0;
  // Ends the session at the server, if there is one.
  virtual void End(const Patience& patience) = 0;

 protected:
  virtual Result<RpcReply> Request(const Outgoing& outgoing, const Patience& patience) = 0;
  // Continues a call whose stream was left (Continuation::Kind::kStream).
  virtual Result<RpcReply> GoOn(const Continuation& place, const json& answer,
                                const Outgoing& outgoing, const Patience& patience);
  virtual bool marks_headers() const { return false; }

 private:
  Result<ToolReply> CallUntilComplete(Outgoing outgoing, const Continuation& before,
                                      const ToolCall& call, const Patience& patience);
};

}  // namespace agent_graph::tools::mcp
