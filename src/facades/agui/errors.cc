#include "facades/agui/errors.h"

#include "base/json.h"
#include "base/json_array.h"

namespace agent_graph::agui {
namespace {

void AppendDetail(std::string& out, const api::ErrorDetail& detail) {
  out += "{\"loc\":";
  AppendJsonArray(out, detail.location, AppendJsonString);
  out += ",\"msg\":";
  AppendJsonString(out, detail.message);
  out += ",\"type\":\"";
  out += api::NameOf(detail.type);
  out += "\"}";
}

}  // namespace

std::string ErrorJson(const api::ErrorInfo& error) {
  std::string out = R"({"type":"RUN_ERROR","message":)";
  AppendJsonString(out, api::MessageOf(error));
  out += ",\"code\":";
  AppendJsonString(out, api::CodeOf(error));
  if (!error.details.empty()) {
    out += ",\"details\":";
    AppendJsonArray(out, error.details, AppendDetail);
  }
  out += '}';
  return out;
}

api::Reply RenderError(const api::ErrorInfo& error, std::string_view) {
  api::Reply reply;
  const bool is_own = error.status == 0;  // and not of a custom backend, or of nginx
  reply.status = is_own && api::IsAuthenticationError(error.error) ? 401 : api::StatusOf(error);
  reply.headers.emplace_back("Content-Type", "application/json");
  if (const int64_t seconds = api::RetryAfterOf(error); seconds > 0) {
    reply.headers.emplace_back("Retry-After", std::to_string(seconds));
  }
  reply.body = ErrorJson(error);
  return reply;
}

}  // namespace agent_graph::agui
