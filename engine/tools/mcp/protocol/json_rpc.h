// JSON-RPC messages of the Model Context Protocol, independent of the transport.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "base/status.h"

namespace agent_graph::tools::mcp {

inline constexpr size_t kReplyBytesMax = 4 * 1024 * 1024;  // per message

inline constexpr char kCallTool[] = "tools/call";
inline constexpr char kToolsChanged[] = "notifications/tools/list_changed";

// Error codes with a meaning in the protocol.
inline constexpr int64_t kMethodNotFound = -32601;
inline constexpr int64_t kInvalidParams = -32602;
inline constexpr int64_t kHeaderMismatch = -32020;
inline constexpr int64_t kMissingCapability = -32021;
inline constexpr int64_t kUnsupportedRevision = -32022;

// The error with which the server refused a request.
struct RpcError {
  int64_t code = 0;
  // The server's text as one line. Not cut, because a cut text could end with a part of a secret.
  std::string message;
  json data;

  // Replaces `secrets` in the message by "***", and cuts it to a length that can be shown.
  void CleanMessage(const std::vector<std::string>& secrets);
  // Returns kInvalidArgument with the server's message.
  Status ToStatus() const;
};

// The reply to a request: a result or an error.
struct RpcReply {
  json result = nullptr;
  std::optional<RpcError> error = {};
  bool stopped = false;  // no reply, because a handler stopped the reading
};

// `params` null: none.
json MakeNotification(const char* method, const json& params);
json MakeRequest(int64_t id, const char* method, const json& params);
// Returns the response to a server's request: `ping` succeeds, a question to the user is cancelled,
// everything else is refused.
json MakeAnswer(const json& request);

// Returns kUnavailable if `message` is not a reply.
Result<RpcReply> ReadReply(json message);
// Reads the member "error" of a reply.
RpcError ReadError(const json& error);

}  // namespace agent_graph::tools::mcp
