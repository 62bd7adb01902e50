#include "api/context.h"

#include <nlohmann/json.hpp>

#include "api/headers.h"
#include "runtime/cancellation.h"

namespace agent_graph::api {

HandlerContext::HandlerContext(bridge::Exchange& exchange, const ApiContext& api, Caller caller)
    : exchange_(exchange),
      api_(api),
      caller_(std::move(caller)),
      body_(std::make_unique<nlohmann::json>(nlohmann::json::object())) {}

HandlerContext::~HandlerContext() = default;

void HandlerContext::SetBody(nlohmann::json body, size_t bytes) {
  *body_ = std::move(body);
  body_bytes_ = bytes;
}

MessageLimits HandlerContext::message_limits() const {
  return {body_bytes_, api_.settings->limits.message_bytes_max};
}

const std::string& HandlerContext::ThreadId(Problems& problems) {
  const std::string& thread_id = head().path_parameters.at(0);
  if (auto problem = ThreadIdProblem(thread_id)) {
    problems.Add({"path", "thread_id"}, *std::move(problem), "value_error");
  }
  return thread_id;
}

const std::string& HandlerContext::MessageId(Problems& problems) {
  const std::string& message_id = head().path_parameters.at(1);
  if (auto problem = MessageIdProblem(message_id)) {
    problems.Add({"path", "message_id"}, *std::move(problem), "value_error");
  }
  return message_id;
}

void HandlerContext::Succeed(std::string_view data_json, std::string_view message) {
  Send(SuccessReply(data_json, message, head().request_id), "ok");
}

void HandlerContext::Fail(const Status& status) {
  ErrorInfo error = ErrorOf(status);
  if (Describe(error.error).status >= 500) {
    Log(bridge::LogLevel::kError, head().method + " " + head().path + ": " + status.ToString());
  }
  Fail(std::move(error));
}

void HandlerContext::Fail(ErrorInfo error) {
  std::string outcome = OutcomeOf(error, exchange_.cancellation().reason());
  Send(ErrorReply(error, head().request_id), std::move(outcome));
}

bridge::ReplyHead HandlerContext::MakeHead(int status, bridge::HeaderList headers) const {
  bridge::ReplyHead reply;
  reply.status = status;
  reply.headers = std::move(headers);
  AppendStandardHeaders(reply.headers, *api_.settings, head().Header("origin"), head().request_id,
                        head().https);
  return reply;
}

void HandlerContext::Log(bridge::LogLevel level, const std::string& text) {
  if (api_.log != nullptr) api_.log->Log(level, "request " + head().request_id + ": " + text);
}

void HandlerContext::Send(Reply reply, std::string outcome) {
  bridge::ReplyHead head = MakeHead(reply.status, std::move(reply.headers));
  head.content_length = static_cast<int64_t>(reply.body.size());
  exchange_.Reply(std::move(head), std::move(reply.body), std::move(outcome));
}

std::string OutcomeOf(const ErrorInfo& error, runtime::CancelReason reason) {
  switch (reason) {
    case runtime::CancelReason::kClientGone:
      return "client_abort";
    case runtime::CancelReason::kStopped:
      return "cancelled";
    case runtime::CancelReason::kDeadline:
      return "timeout";
    case runtime::CancelReason::kShutdown:
      return "shutdown";
    case runtime::CancelReason::kNone:
      break;
  }
  if (error.error == ApiError::kTimeout) return "timeout";
  if (error.error == ApiError::kCancelled) return "cancelled";
  int status = Describe(error.error).status;
  return status < 500 || status == 503 ? "rejected" : "error";
}

}  // namespace agent_graph::api
