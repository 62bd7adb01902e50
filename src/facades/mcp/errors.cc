#include "facades/mcp/errors.h"

#include "base/json.h"
#include "facades/run/error_status.h"

namespace agent_graph::mcp {
namespace {

using api::ApiError;
using api::ErrorInfo;

// Refusals before the handler are about the body as a whole.
int64_t CodeFor(const ErrorInfo& error) {
  if (error.error == ApiError::kValidation) {
    const bool is_json =
        error.details.empty() || error.details.front().type != api::ProblemType::kJsonSyntax;
    return is_json ? kInvalidRequest : kParseError;
  }
  if (error.error == ApiError::kBadRequest) return kInvalidRequest;
  return facades::ErrorStatus(error) == 500 ? kInternalError : kServerRefusal;
}

}  // namespace

std::string TextOf(const ErrorInfo& error) {
  if (error.details.empty()) return std::string(api::MessageOf(error));
  std::string path;
  const std::vector<std::string>& location = error.details.front().location;
  for (size_t i = 1; i < location.size(); ++i) {
    path += (path.empty() ? "" : ".") + location[i];
  }
  const std::string& problem = error.details.front().message;
  return path.empty() ? problem : path + ": " + problem;
}

RpcError RpcErrorOf(const ErrorInfo& error) {
  RpcError out{CodeFor(error), TextOf(error), facades::ErrorStatus(error)};
  out.data_json = "{\"code\":";
  AppendJsonString(out.data_json, api::CodeOf(error));
  out.data_json += '}';
  return out;
}

api::Reply RenderError(const ErrorInfo& error, std::string_view) {
  const RpcError rpc = RpcErrorOf(error);
  api::Reply reply;
  reply.status = rpc.status;
  reply.headers.emplace_back("Content-Type", "application/json");
  if (const int64_t seconds = api::RetryAfterOf(error); seconds > 0) {
    reply.headers.emplace_back("Retry-After", std::to_string(seconds));
  }
  reply.body = ErrorMessage(kNoId, rpc);
  return reply;
}

}  // namespace agent_graph::mcp
