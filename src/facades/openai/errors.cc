#include "facades/openai/errors.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/letter_case.h"
#include "facades/run/error_status.h"

namespace agent_graph::openai {
namespace {

using api::ApiError;
using api::ErrorInfo;

std::string_view TypeOf(int status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

std::string CodeFor(const ErrorInfo& error) {
  const bool has_own_code = !error.code.empty();
  if (!has_own_code && api::IsAuthenticationError(error.error)) return "invalid_api_key";
  return LowerCase(api::CodeOf(error));
}

bool IsIndex(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "messages[0].role" for {"body", "messages", "0", "role"}; empty: the whole body.
std::string ParameterOf(const ErrorInfo& error) {
  if (error.details.empty()) return "";
  const std::vector<std::string>& location = error.details.front().location;
  std::string name;
  for (size_t i = 1; i < location.size(); ++i) {
    if (IsIndex(location[i])) {
      name += '[' + location[i] + ']';
    } else {
      name += (name.empty() ? "" : ".") + location[i];
    }
  }
  return name;
}

std::string MessageOf(const ErrorInfo& error, const std::string& parameter) {
  if (error.details.empty()) return std::string(api::MessageOf(error));
  const std::string& problem = error.details.front().message;
  return parameter.empty() ? problem : parameter + ": " + problem;
}

}  // namespace

std::string ErrorJson(const ErrorInfo& error) {
  const std::string parameter = ParameterOf(error);
  std::string out = R"({"error":{"message":)";
  AppendJsonString(out, MessageOf(error, parameter));
  out += R"(,"type":)";
  AppendJsonString(out, TypeOf(facades::ErrorStatus(error)));
  out += R"(,"param":)";
  if (parameter.empty()) {
    out += "null";
  } else {
    AppendJsonString(out, parameter);
  }
  out += R"(,"code":)";
  AppendJsonString(out, CodeFor(error));
  out += "}}";
  return out;
}

bool IsPermanent(const ErrorInfo& error) {
  switch (error.error) {
    case ApiError::kConflict:
    case ApiError::kStaleRun:
    case ApiError::kNotConfigured:
    case ApiError::kCancelled:
    case ApiError::kRecursionLimit:
    case ApiError::kGraph:
    case ApiError::kStorage:
      return true;
    default:
      return false;
  }
}

api::Reply RenderError(const ErrorInfo& error, std::string_view) {
  api::Reply reply;
  reply.status = facades::ErrorStatus(error);
  reply.headers.emplace_back("Content-Type", "application/json");
  if (const int64_t seconds = api::RetryAfterOf(error); seconds > 0) {
    reply.headers.emplace_back("Retry-After", std::to_string(seconds));
  }
  if (IsPermanent(error)) reply.headers.emplace_back("x-should-retry", "false");
  reply.body = ErrorJson(error);
  return reply;
}

ErrorInfo Unsupported(std::string parameter, std::string problem) {
  ErrorInfo error{ApiError::kValidation, "", {}};
  error.details.push_back(
      {{"body", std::move(parameter)}, std::move(problem), api::ProblemType::kValue});
  error.code = "unsupported_parameter";
  return error;
}

}  // namespace agent_graph::openai
