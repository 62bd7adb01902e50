#include "tools/mcp/protocol.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "agent_graph/version.h"
#include "base/text.h"

namespace agent_graph::tools::mcp {
namespace {

using nlohmann::json;

// The newest version this client speaks; a server may answer with an older one.
constexpr char kProtocolVersion[] = "2025-06-18";
constexpr std::string_view kProtocolVersions[] = {"2025-11-25", kProtocolVersion, "2025-03-26",
                                                  "2024-11-05"};
constexpr int kMethodNotFound = -32601;
constexpr size_t kErrorTextBytesMax = 500;

Status Unavailable(std::string message) {
  return Status(StatusCode::kUnavailable, std::move(message));
}

}  // namespace

json MakeNotification(const char* method, const json& params) {
  json message = {{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.is_null()) message["params"] = params;
  return message;
}

json MakeRequest(int64_t id, const char* method, const json& params) {
  json message = MakeNotification(method, params);
  message["id"] = id;
  return message;
}

json InitializeParams() {
  const std::string version = std::to_string(kSdkVersion / 10000) + "." +
                              std::to_string(kSdkVersion / 100 % 100) + "." +
                              std::to_string(kSdkVersion % 100);
  return {{"protocolVersion", kProtocolVersion},
          {"capabilities", json::object()},
          {"clientInfo", {{"name", "agent-graph"}, {"version", version}}}};
}

json MakeAnswer(const json& request) {
  json answer = {{"jsonrpc", "2.0"}, {"id", request.value("id", json())}};
  if (request.value("method", json()) == "ping") {
    answer["result"] = json::object();
  } else {
    answer["error"] = {{"code", kMethodNotFound}, {"message", "not supported by this client"}};
  }
  return answer;
}

Result<ServerFacts> ReadInitializeResult(const json& result) {
  const auto spoken = result.find("protocolVersion");
  if (spoken == result.end() || !spoken->is_string()) {
    return Unavailable("the reply to \"initialize\" has no protocol version");
  }
  ServerFacts facts;
  facts.protocol_version = spoken->get<std::string>();
  if (std::find(std::begin(kProtocolVersions), std::end(kProtocolVersions),
                facts.protocol_version) == std::end(kProtocolVersions)) {
    return Unavailable("the server speaks another version of the protocol");
  }
  const json::json_pointer changes("/capabilities/tools/listChanged");
  facts.announces_changes = result.contains(changes) && result.at(changes) == true;
  return facts;
}

Result<json> ResultOf(json reply) {
  if (const auto error = reply.find("error"); error != reply.end()) {
    const std::string text = ErrorText(*error);
    return Status(StatusCode::kInvalidArgument, text.empty() ? "the server refused" : text);
  }
  const auto result = reply.find("result");
  if (result == reply.end() || !result->is_object()) {
    return Unavailable("the server's reply has no result");
  }
  return std::move(*result);
}

std::string ErrorText(const json& error) {
  std::string text = error.is_object() ? error.value("message", json("unknown error")).dump() : "";
  if (error.is_object() && error.contains("message") && error["message"].is_string()) {
    text = error["message"].get<std::string>();
  }
  return OneLine(text, kErrorTextBytesMax);
}

}  // namespace agent_graph::tools::mcp
