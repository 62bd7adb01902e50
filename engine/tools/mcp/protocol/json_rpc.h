// JSON-RPC messages as the Model Context Protocol uses them, whatever carries them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent_graph/json.h"
#include "base/status.h"

namespace agent_graph::tools::mcp {

inline constexpr size_t kReplyBytesMax = 4 * 1024 * 1024;  // of one message

inline constexpr char kCallTool[] = "tools/call";
inline constexpr char kToolsChanged[] = "notifications/tools/list_changed";

// Error codes that the protocol gives a meaning.
inline constexpr int64_t kMethodNotFound = -32601;
inline constexpr int64_t kInvalidParams = -32602;
inline constexpr int64_t kHeaderMismatch = -32020;
inline constexpr int64_t kMissingCapability = -32021;
inline constexpr int64_t kUnsupportedRevision = -32022;

// The server refused a request.
struct RpcError {
  int64_t code = 0;
  std::string message;  // the server's, one line, cut to a bound
  json data;

  // kInvalidArgument with the server's message.
  Status ToStatus() const;
};

// A reply to a request: an object, or an error.
struct RpcReply {
  json result = nullptr;
  std::optional<RpcError> error = {};
  bool stopped = false;  // no reply: a handler stopped the reading
};

// `params` null: none.
json MakeNotification(const char* method, const json& params);
json MakeRequest(int64_t id, const char* method, const json& params);
// The answer to a request of the server's: `ping` succeeds, a question to the user is cancelled,
// everything else is refused.
json MakeAnswer(const json& request);

// kUnavailable: `message` is no reply.
Result<RpcReply> ReadReply(json message);
// The member "error" of a reply.
RpcError ReadError(const json& error);

}  // namespace agent_graph::tools::mcp
