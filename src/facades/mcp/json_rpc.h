// Messages of JSON-RPC 2.0, as the Model Context Protocol uses them. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"

namespace agent_graph::mcp {

inline constexpr int64_t kParseError = -32700;
inline constexpr int64_t kInvalidRequest = -32600;
inline constexpr int64_t kMethodNotFound = -32601;
inline constexpr int64_t kInvalidParams = -32602;
inline constexpr int64_t kInternalError = -32603;
// Codes that JSON-RPC does not define: the first is this server's own, the others are MCP's.
inline constexpr int64_t kServerRefusal = -32000;
inline constexpr int64_t kSessionNotFound = -32001;
inline constexpr int64_t kResourceNotFound = -32002;  // in sessions only
inline constexpr int64_t kHeaderMismatch = -32020;
inline constexpr int64_t kMissingCapability = -32021;
inline constexpr int64_t kUnsupportedRevision = -32022;

// The id in the error of what is no request.
inline constexpr std::string_view kNoId = "null";
inline constexpr size_t kIdBytesMax = 2048;  // as JSON; ids of our own requests have some 100

// An error of a request. `status` is that of the HTTP response.
struct RpcError {
  int64_t code = kInternalError;
  std::string message;
  int status = 200;
  std::string data_json = {};  // empty: none
};

// A message of a client. The pointers refer to the body that it was read from.
struct RpcMessage {
  enum class Kind : uint8_t { kRequest, kNotification, kResponse };
  Kind kind = Kind::kNotification;
  std::string id_json{kNoId};    // the id of a request or response: a text or an integer
  std::string method;            // for requests and notifications
  const json* params = nullptr;  // an object; null: none
  const json* result = nullptr;  // for responses; null: it is an error
};

// Reads a message. `body` is an object. Returns the refusal of something else, or nullopt.
std::optional<RpcError> ReadMessage(const json& body, RpcMessage& message);

// Return messages of the server. `…_json` are JSON texts; `params_json` and `result_json` are
// objects.
std::string ResultMessage(std::string_view id_json, std::string_view result_json);
std::string ErrorMessage(std::string_view id_json, const RpcError& error);
std::string NotificationMessage(std::string_view method, std::string_view params_json);
std::string RequestMessage(std::string_view id_json, std::string_view method,
                           std::string_view params_json);

// Returns a text member of an object; null if it is absent or something else.
const std::string* TextMember(const json* object, const char* name);
// Returns an object member of an object; null likewise.
const json* ObjectMember(const json* object, const char* name);

}  // namespace agent_graph::mcp
