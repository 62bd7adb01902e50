#include "api/context.h"

#include <nlohmann/json.hpp>

#include "api/body_thread.h"
#include "api/headers.h"
#include "api/rate_limit.h"
#include "api/run_request.h"
#include "runtime/cancellation.h"

namespace agent_graph::api {
namespace {

// The loop answers at its next turn.
constexpr std::chrono::seconds kAdmissionTimeout{30};

}  // namespace

HandlerContext::HandlerContext(bridge::Exchange& exchange, const ApiContext& api)
    : exchange_(exchange),
      api_(api),
      body_(std::make_unique<nlohmann::json>(nlohmann::json::object())) {}

HandlerContext::~HandlerContext() = default;

auth::GuardRequest HandlerContext::Ask(const Route& route) const {
  auth::GuardRequest request{head(), exchange_.cancellation(), {route.resource, route.action}};
  if (!head().path_parameters.empty()) request.resource_id = head().path_parameters[0];
  request.websocket = head().websocket;
  return request;
}

bool HandlerContext::Admit(const Route& route) {
  if (route.access == Access::kPublic) return true;
  auth::GuardRequest request = Ask(route);
  if (CountsByUser(*api_.settings)) {
    request.admit = [this](const std::string& user_id) {
      return exchange_.Admit(user_id, DeadlineAfter(kAdmissionTimeout));
    };
  }
  auth::GuardOutcome outcome = api_.guard->Check(request);
  guard_headers_ = std::move(outcome.headers);
  if (outcome.refusal) {
    Fail(ErrorOf(*std::move(outcome.refusal)));
    return false;
  }
  caller_ = std::move(outcome.caller);
  permission_ = request.permission;
  guarded_thread_ = std::move(request.resource_id);
  return true;
}

bool HandlerContext::AdmitBodyThread(const Route& route) {
  std::optional<ErrorInfo> error = CheckBodyThread(route);
  if (error) Fail(*std::move(error));
  return !error;
}

std::optional<ErrorInfo> HandlerContext::CheckBodyThread(const Route& route) {
  bool names_thread = route.resource == "graph" || route.resource == "checkpointer";
  if (route.access == Access::kPublic || !names_thread || !head().path_parameters.empty()) {
    return std::nullopt;
  }
  guarded_thread_.clear();
  caller_.remembered = false;
  Problems problems;
  std::string thread_id = BodyThreadId(body(), problems);
  if (!problems.empty()) return std::move(problems).Error();
  if (thread_id.empty()) return std::nullopt;
  nlohmann::json config = ClientConfig(FindMember(body(), "config"));
  if (auto refusal = api_.guard->CheckThread(Ask(route), config, thread_id, caller_)) {
    return ErrorOf(*std::move(refusal));
  }
  guarded_thread_ = std::move(thread_id);
  return std::nullopt;
}

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
  Fail(Explain(status));
}

ErrorInfo HandlerContext::Explain(const Status& status) {
  if (status.code() == StatusCode::kNotFound && caller_.remembered) {
    if (auto refusal = api_.guard->Confirm(permission_, guarded_thread_, caller_)) {
      return ErrorOf(*std::move(refusal));
    }
  }
  ErrorInfo error = ErrorOf(status);
  if (StatusOf(error) >= 500) {
    Log(bridge::LogLevel::kError, head().method + " " + head().path + ": " + status.ToString());
  }
  return error;
}

void HandlerContext::Fail(ErrorInfo error, bridge::HeaderList headers) {
  std::string outcome = OutcomeOf(error, exchange_.cancellation().reason());
  Reply reply = head().websocket ? HandshakeRefusal(error, head().request_id)
                                 : ErrorReply(error, head().request_id);
  reply.headers.insert(reply.headers.end(), headers.begin(), headers.end());
  Send(std::move(reply), std::move(outcome));
}

bridge::ReplyHead HandlerContext::MakeHead(int status, bridge::HeaderList headers) const {
  bridge::ReplyHead reply;
  reply.status = status;
  reply.headers = std::move(headers);
  reply.headers.insert(reply.headers.end(), guard_headers_.begin(), guard_headers_.end());
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
  int status = StatusOf(error);
  return status < 500 || status == 503 ? "rejected" : "error";
}

}  // namespace agent_graph::api
