// Interface of a connection to an MCP server, independent of the transport.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "base/clock.h"
#include "base/status.h"
#include "net/http_client.h"
#include "runtime/wait_options.h"
#include "tools/call/call_input.h"
#include "tools/call/reply_memory.h"
#include "tools/mcp/protocol/elicitation.h"
#include "tools/mcp/protocol/json_rpc.h"

namespace agent_graph::tools::mcp {

inline constexpr size_t kListPagesMax = 32;
inline constexpr size_t kListedToolsMax = 4096;
inline constexpr size_t kListBytesMax = 8 * 1024 * 1024;  // all pages together, as JSON

using runtime::WaitOptions;

// A request, without the parts that depend on the connection.
struct Outgoing {
  const char* method = "";
  json params = json::object();
  std::string name = {};          // the called tool
  net::HttpHeaders headers = {};  // arguments that are also sent as headers (HTTP only)
  // Answers the server's questions during the request; null: questions are refused.
  SessionQuestions* questions = nullptr;
  bool may_pause = false;         // the server may reply with questions
  ReplyMemory* memory = nullptr;  // see ToolCall
};

// One call of a tool.
struct ToolCall {
  std::string name;  // the server's name for the tool
  json arguments;
  net::HttpHeaders headers = {};
  CallInput* input = nullptr;  // null: the call cannot ask the user
  bool may_repeat = false;     // the call is idempotent
  // Where a large reply waits for memory. Null: it does not wait.
  ReplyMemory* memory = nullptr;
};

struct ToolReply {
  json result;                 // content, structuredContent, isError; null: the call pauses
  std::string cancelled = {};  // why a question was cancelled; empty: none was
};

struct ListedTools {
  std::vector<json> tools;  // objects with name, description, inputSchema
  // how long the list stays valid, as stated by the server; 0: not stated
  std::chrono::milliseconds fresh{0};
  bool marks_headers = false;  // "x-mcp-header" in the schemas is significant
};

// Thread-safe: used by fibers of several engine threads at once. Calls suspend the calling fiber.
// The connection is opened by the first request, and reopened after it was lost.
//
// Errors: kCancelled, kDeadlineExceeded, kUnavailable (no connection, a broken stream, a program
// that ended), kResourceExhausted (a reply above its size limit), kInvalidArgument (the server
// refused; the text is the server's).
class Client {
 public:
  virtual ~Client() = default;

  // Returns the tools of all pages of tools/list.
  Result<ListedTools> ListTools(const WaitOptions& wait);
  // Returns the result of tools/call. A call that pauses sets `pause` in its input. If the caller
  // cancels or times out, the server gets a notification.
  Result<ToolReply> CallTool(ToolCall call, const WaitOptions& wait);

  // True if the server announces changes of its tools.
  virtual bool announces_changes() const = 0;
  // True if the server announces them, or asks the user, on a stream that the client must open.
  virtual bool wants_listener() const = 0;
  // Reads unsolicited messages of the server until the stream ends. Ok: reopen the stream after the
  // returned time. kNotFound: there is no such stream; wants_listener is false from then on.
  virtual Result<std::chrono::milliseconds> Listen(const WaitOptions& wait) = 0;
  // Ends the server's session, if there is one.
  virtual void End(const WaitOptions& wait) = 0;

 protected:
  virtual Result<RpcReply> Request(const Outgoing& outgoing, const WaitOptions& wait) = 0;
  // Continues a call whose stream was closed when it paused (Continuation::Kind::kStream).
  virtual Result<RpcReply> ContinueCall(const Continuation& place, const json& answer,
                                        const Outgoing& outgoing, const WaitOptions& wait);
  virtual bool marks_headers() const { return false; }
  // The secrets of the connection. They are replaced by "***" in tools, results and questions of
  // the server; Request removes them from its errors itself.
  virtual std::vector<std::string> secrets() const = 0;

 private:
  ToolReply Paused(const Continuation& continuation, std::vector<Question> questions,
                   CallInput& input) const;
  Result<ToolReply> CallUntilComplete(Outgoing outgoing, const Continuation& before,
                                      const ToolCall& call, const WaitOptions& wait);
};

}  // namespace agent_graph::tools::mcp
