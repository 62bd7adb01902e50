#include "api/http/envelope.h"

#include <utility>

#include "base/clock.h"
#include "base/json.h"

namespace agent_graph::api {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kBeforeData = R"({"success":true,"data":)";
constexpr size_t kEnvelopeBytes = 256;  // about the size that an envelope adds to its data

void AppendMetadata(std::string& out, std::string_view request_id, std::string_view timestamp,
                    std::string_view message) {
  out += R"("metadata":{"request_id":)"sv;
  AppendJsonString(out, request_id);
  out += R"(,"timestamp":")"sv;
  out += timestamp;
  out += R"(","message":)"sv;
  AppendJsonString(out, message);
  out += "}}"sv;
}

void AppendAfterData(std::string& out, std::string_view message, std::string_view request_id) {
  const IsoTimestampText timestamp(UnixMicros());
  out += R"(,"message":)"sv;
  AppendJsonString(out, message);
  out += R"(,"timestamp":")"sv;
  out += timestamp;
  out += R"(",)"sv;
  AppendMetadata(out, request_id, timestamp, message);
}

void AppendDetails(std::string& out, const std::vector<ErrorDetail>& details) {
  out += "\"details\":[";
  for (size_t i = 0; i < details.size(); ++i) {
    out += i == 0 ? "{\"loc\":[" : ",{\"loc\":[";
    for (size_t j = 0; j < details[i].location.size(); ++j) {
      if (j > 0) out += ',';
      AppendJsonString(out, details[i].location[j]);
    }
    out += "],\"msg\":";
    AppendJsonString(out, details[i].message);
    out += ",\"type\":";
    AppendJsonString(out, NameOf(details[i].type));
    out += '}';
  }
  out += ']';
}

}  // namespace

std::string SuccessEnvelope(std::string_view data_json, std::string_view message,
                            std::string_view request_id) {
  std::string out;
  out.reserve(data_json.size() + 2 * message.size() + kEnvelopeBytes);
  out += kBeforeData;
  out += data_json;
  AppendAfterData(out, message, request_id);
  return out;
}

std::vector<std::string> SuccessEnvelopeAround(std::string data_json, std::string_view message,
                                               std::string_view request_id) {
  std::vector<std::string> parts(3);
  parts[0] = kBeforeData;
  parts[1] = std::move(data_json);
  AppendAfterData(parts[2], message, request_id);
  return parts;
}

std::string ErrorEnvelope(const ErrorInfo& error, std::string_view request_id) {
  const std::string_view message = MessageOf(error);
  std::string out;
  out.reserve(3 * message.size() + kEnvelopeBytes);
  out += "{\"detail\":";
  AppendJsonString(out, message);
  if (IsAuthenticationError(error.error)) {
    out += ",\"error_code\":";
    AppendJsonString(out, CodeOf(error));
  }
  out += ",\"error\":{\"code\":";
  AppendJsonString(out, CodeOf(error));
  out += ",\"message\":";
  AppendJsonString(out, message);
  out += ',';
  AppendDetails(out, error.details);
  for (const auto& [name, number] : error.numbers) {
    out += ',';
    AppendJsonString(out, name);
    out += ':' + std::to_string(number);
  }
  out += "},";
  AppendMetadata(out, request_id, IsoTimestampText(UnixMicros()), message);
  return out;
}

Reply SuccessReply(std::string_view data_json, std::string_view message,
                   std::string_view request_id) {
  Reply reply;
  reply.headers.emplace_back("Content-Type", "application/json");
  reply.body = SuccessEnvelope(data_json, message, request_id);
  return reply;
}

Reply ErrorReply(const ErrorInfo& error, std::string_view request_id) {
  Reply reply;
  reply.status = StatusOf(error);
  reply.headers.emplace_back("Content-Type", "application/json");
  if (const int64_t seconds = RetryAfterOf(error); seconds > 0) {
    reply.headers.emplace_back("Retry-After", std::to_string(seconds));
  }
  reply.body = ErrorEnvelope(error, request_id);
  return reply;
}

Reply ErrorReply(ApiError error, std::string_view request_id) {
  return ErrorReply(ErrorInfo{error, "", {}}, request_id);
}

Reply Refuse(const ErrorInfo& error, bool handshake, std::string_view request_id,
             ErrorRenderer render) {
  Reply reply = render(error, request_id);
  if (!handshake) return reply;
  const char* close_code = "1008";
  if (!IsAuthenticationError(error.error) && error.error != ApiError::kPermissionDenied) {
    if (reply.status == 429 || reply.status == 503) close_code = "1013";
    if (reply.status == 500 || reply.status == 504) close_code = "1011";
  }
  reply.headers.emplace_back("X-WS-Close-Code", close_code);
  return reply;
}

Reply MethodNotAllowedReply(std::string_view allow, std::string_view request_id,
                            ErrorRenderer render) {
  Reply reply = render({ApiError::kMethodNotAllowed, "", {}}, request_id);
  reply.headers.emplace_back("Allow", allow);
  return reply;
}

}  // namespace agent_graph::api
