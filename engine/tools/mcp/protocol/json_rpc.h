// The parts of the Model Context Protocol that do not depend on the transport.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/status.h"

namespace agent_graph::tools::mcp {

inline constexpr size_t kReplyBytesMax = 4 * 1024 * 1024;  // of one message

inline constexpr char kCallTool[] = "tools/call";

// What the reply to "initialize" says.
struct ServerFacts {
  std::string protocol_version;
  bool announces_changes = false;  // of its tools
};

// JSON-RPC messages; `params` null: none.
nlohmann::json MakeNotification(const char* method, const nlohmann::json& params);
nlohmann::json MakeRequest(int64_t id, const char* method, const nlohmann::json& params);
nlohmann::json InitializeParams();
// What a request of the server's gets.
nlohmann::json MakeAnswer(const nlohmann::json& request);

// kUnavailable when the server speaks no version of ours.
Result<ServerFacts> ReadInitializeResult(const nlohmann::json& result);
// The result of a reply; kInvalidArgument with the server's words when it refused.
Result<nlohmann::json> ResultOf(nlohmann::json reply);
// `message` of a JSON-RPC error, cut to a bound.
std::string ErrorText(const nlohmann::json& error);

}  // namespace agent_graph::tools::mcp
