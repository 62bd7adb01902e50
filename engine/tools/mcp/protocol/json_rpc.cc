#include "tools/mcp/protocol/json_rpc.h"

#include <utility>

#include "base/environment.h"
#include "base/text.h"

namespace agent_graph::tools::mcp {
namespace {

constexpr size_t kErrorTextBytesMax = 500;

}  // namespace

Status RpcError::ToStatus() const {
  return Status(StatusCode::kInvalidArgument, message.empty() ? "the server refused" : message);
}

void RpcError::CleanMessage(const std::vector<std::string>& secrets) {
  BlotOut(secrets, message);
  message.resize(CutAtCharacter(message, kErrorTextBytesMax).size());
}

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

json MakeAnswer(const json& request) {
  json answer = {{"jsonrpc", "2.0"}, {"id", request.value("id", json())}};
  const json method = request.value("method", json());
  if (method == "ping") {
    answer["result"] = json::object();
  } else if (method == "elicitation/create") {
    answer["result"] = {{"action", "cancel"}};
  } else {
    answer["error"] = {{"code", kMethodNotFound}, {"message", "not supported by this client"}};
  }
  return answer;
}

Result<RpcReply> ReadReply(json message) {
  RpcReply reply;
  if (const auto error = message.find("error"); error != message.end()) {
    reply.error = ReadError(*error);
    return reply;
  }
  const auto result = message.find("result");
  if (result == message.end() || !result->is_object()) {
    return Status(StatusCode::kUnavailable, "the server's reply has no result");
  }
  reply.result = std::move(*result);
  return reply;
}

RpcError ReadError(const json& error) {
  RpcError read;
  if (!error.is_object()) return read;
  if (const auto code = error.find("code"); code != error.end() && code->is_number_integer()) {
    read.code = code->get<int64_t>();
  }
  const auto message = error.find("message");
  if (message == error.end()) {
    read.message = "unknown error";
  } else {
    read.message =
        OneLine(message->is_string() ? message->get_ref<const std::string&>() : message->dump(),
                std::string::npos);
  }
  if (const auto data = error.find("data"); data != error.end()) read.data = *data;
  return read;
}

}  // namespace agent_graph::tools::mcp
