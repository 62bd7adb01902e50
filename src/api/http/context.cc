#include "api/http/context.h"

#include "agent_graph/json.h"
#include "api/http/body_config.h"
#include "api/http/rate_limit.h"
#include "base/clock.h"
#include "limits/key.h"
#include "limits/shared_rate.h"
#include "runtime/cancellation.h"

namespace agent_graph::api {
namespace {

// A safety limit: the loop answers within its next turn.
constexpr std::chrono::seconds kAdmissionTimeout{30};

// Larger data becomes a part of its answer as it is.
constexpr size_t kCopiedDataBytesMax = 16 * 1024;

// True if the first id in the path is that of a thread.
bool NamesThread(const Route& route) {
  return route.pattern.find("{thread_id}") != std::string_view::npos ||
         route.pattern.find("{conversation_id}") != std::string_view::npos;
}

}  // namespace

HandlerContext::HandlerContext(bridge::Exchange& exchange, const ApiContext& api)
    : exchange_(exchange), api_(api), body_(std::make_unique<json>(json::value_t::object)) {}

HandlerContext::~HandlerContext() = default;

auth::GuardRequest HandlerContext::Ask(const Route& route) const {
  auth::GuardRequest request{head(), exchange_.cancellation(), route.permission};
  if (!head().path_parameters.empty()) request.resource_id = head().path_parameters[0];
  request.websocket = head().websocket;
  // The guard refuses a thread of another user before the body and the query are checked. One that
  // does not exist must not get the problems of these instead. No thread has an unusable id.
  request.thread_must_exist =
      route.hides_foreign_threads && NamesThread(route) && !ThreadIdProblem(request.resource_id);
  return request;
}

bool HandlerContext::CountShared(const std::string& user_id) {
  const limits::RateLimitOptions& options = *api_.settings->rate_limit;
  if (limits::IsExcluded(options, head().path)) return true;
  std::string forwarded;
  for (const auto& [name, value] : head().headers) {
    if (name != "x-forwarded-for") continue;
    if (!forwarded.empty()) forwarded += ',';
    forwarded += value;
  }
  std::string address = limits::ClientAddress(options, head().peer_address, forwarded);
  std::optional<limits::RateDecision> decision =
      api_.shared_rate->Check(limits::BucketKey(options, address, user_id));
  if (!decision && options.fail_open) return true;
  if (!decision)
    decision = {.admitted = false,
                .limit = options.requests,
                .reset_after_seconds = options.window_seconds};
  for (auto& [name, value] : DescribeRateLimit(*decision, static_cast<int64_t>(UnixSeconds()))) {
    guard_headers_.emplace_back(name, std::move(value));
  }
  if (decision->admitted) return true;
  rate_refusal_ = RateLimitedError(options, *decision);
  return false;
}

bool HandlerContext::Admit(const Route& route) {
  const bool by_user = route.access == Access::kGuarded && CountsByUser(*api_.settings);
  const bool shared = api_.shared_rate != nullptr;
  if (shared && !by_user && !CountShared("")) {
    Fail(*rate_refusal_);
    return false;
  }
  if (route.access != Access::kGuarded) return true;
  auth::GuardRequest request = Ask(route);
  if (by_user && shared) {
    request.admit = [this](const std::string& user_id) {
      return CountShared(user_id) ? Status::Ok() : Status(StatusCode::kResourceExhausted, "");
    };
  } else if (by_user) {
    request.admit = [this](const std::string& user_id) {
      return exchange_.Admit(user_id, DeadlineAfter(kAdmissionTimeout));
    };
  }
  auth::GuardOutcome outcome = api_.guard->Check(request);
  guard_headers_.insert(guard_headers_.end(), outcome.headers.begin(), outcome.headers.end());
  if (rate_refusal_) {
    Fail(*rate_refusal_);
    return false;
  }
  if (outcome.refusal) {
    if (route.hides_foreign_threads && IsDueToThread(request, *outcome.refusal)) {
      Fail(NotFound("thread not found"));
    } else {
      Fail(ErrorOf(*std::move(outcome.refusal)));
    }
    return false;
  }
  caller_ = std::move(outcome.caller);
  permission_ = request.permission;
  guarded_thread_ = std::move(request.resource_id);
  return true;
}

// True if the caller may do this, but not with the thread that the path names.
bool HandlerContext::IsDueToThread(const auth::GuardRequest& request,
                                   const auth::Refusal& refusal) const {
  if (refusal.kind != auth::Refusal::Kind::kForbidden || request.resource_id.empty()) return false;
  const auth::GuardRequest without_thread{.head = request.head,
                                          .cancellation = request.cancellation,
                                          .permission = request.permission,
                                          .websocket = request.websocket};
  return !api_.guard->Check(without_thread).refusal;
}

bool HandlerContext::AdmitBodyThread(const Route& route) {
  std::optional<ErrorInfo> error = CheckBodyThread(route);
  if (error) Fail(*error);
  return !error;
}

std::optional<ErrorInfo> HandlerContext::CheckBodyThread(const Route& route) {
  if (route.access == Access::kPublic || !auth::IsThreadResource(route.permission.resource) ||
      !head().path_parameters.empty()) {
    return std::nullopt;
  }
  guarded_thread_.clear();
  caller_.remembered = false;
  Problems problems;
  std::string thread_id = BodyThreadId(body(), problems);
  if (!problems.empty()) return std::move(problems).Error();
  if (thread_id.empty()) return std::nullopt;
  return CheckThread(route, thread_id);
}

std::optional<ErrorInfo> HandlerContext::CheckThread(const Route& route,
                                                     const std::string& thread_id) {
  json config = ClientConfig(FindMember(body(), "config"));
  if (auto refusal = api_.guard->CheckThread(Ask(route), config, thread_id, caller_)) {
    caller_.remembered = false;
    return ErrorOf(*std::move(refusal));
  }
  guarded_thread_ = thread_id;
  return std::nullopt;
}

void HandlerContext::SetBody(json body, size_t bytes) {
  *body_ = std::move(body);
  body_bytes_ = bytes;
}

const std::string& HandlerContext::ThreadId(Problems& problems) {
  const std::string& thread_id = head().path_parameters.at(0);
  if (auto problem = ThreadIdProblem(thread_id)) {
    problems.Add({"path", "thread_id"}, *std::move(problem), ProblemType::kValue);
  }
  return thread_id;
}

const std::string& HandlerContext::MessageId(Problems& problems) {
  const std::string& message_id = head().path_parameters.at(1);
  if (auto problem = MessageIdProblem(message_id)) {
    problems.Add({"path", "message_id"}, *std::move(problem), ProblemType::kValue);
  }
  return message_id;
}

void HandlerContext::Succeed(std::string data_json, std::string_view message) {
  SendData(200, std::move(data_json), message, {});
}

void HandlerContext::Succeed(int status, std::string data_json, bridge::HeaderList headers) {
  SendData(status, std::move(data_json), "OK", std::move(headers));
}

void HandlerContext::SendData(int status, std::string data_json, std::string_view message,
                              bridge::HeaderList headers) {
  headers.emplace_back("Content-Type", "application/json");
  std::vector<std::string> body;
  if (data_json.size() < kCopiedDataBytesMax) {
    body.push_back(SuccessEnvelope(data_json, message, head().request_id));
  } else {
    // A slow client may keep the body in memory for long, so unused capacity is freed.
    if (data_json.capacity() - data_json.size() > data_json.size() / 8) data_json.shrink_to_fit();
    body = SuccessEnvelopeAround(std::move(data_json), message, head().request_id);
  }
  exchange_.Reply(MakeHead(status, std::move(headers)), std::move(body), "ok");
}

void HandlerContext::Fail(const Status& status) {
  Fail(Explain(status));
}

ErrorInfo HandlerContext::Explain(const Status& status) {
  if (status.code() == StatusCode::kNotFound && caller_.remembered) {
    auto refusal = api_.guard->Confirm(permission_, guarded_thread_, caller_);
    if (refusal && !route().hides_foreign_threads) return ErrorOf(*std::move(refusal));
  }
  ErrorInfo error = ErrorOf(status);
  if (error.error == ApiError::kValidation) {
    // The error comes from a lower layer without a location in the request; its text names the
    // field.
    const bool has_body = route().shape.body != nullptr;
    error.details = {{{has_body ? "body" : "query"}, error.message, ProblemType::kValue}};
  }
  if (StatusOf(error) >= 500) {
    Log(bridge::LogLevel::kError, head().method + " " + head().path + ": " + status.ToString());
  }
  return error;
}

void HandlerContext::Fail(const ErrorInfo& error, const bridge::HeaderList& headers) {
  std::string outcome = OutcomeOf(error, exchange_.cancellation().reason());
  Reply reply = Refuse(error, head().websocket, head().request_id, route().render_error);
  reply.headers.insert(reply.headers.end(), headers.begin(), headers.end());
  Send(std::move(reply), std::move(outcome));
}

bridge::ReplyHead HandlerContext::MakeHead(int status, bridge::HeaderList headers) const {
  bridge::ReplyHead reply;
  reply.status = status;
  reply.headers = std::move(headers);
  reply.headers.insert(reply.headers.end(), guard_headers_.begin(), guard_headers_.end());
  if (const auto complete = route().complete_headers) complete(*this, status, reply.headers);
  return reply;
}

void HandlerContext::Log(bridge::LogLevel level, const std::string& text) {
  if (api_.log != nullptr) api_.log->Log(level, "request " + head().request_id + ": " + text);
}

void HandlerContext::Send(Reply reply, std::string outcome) {
  std::vector<std::string> body;
  body.push_back(std::move(reply.body));
  exchange_.Reply(MakeHead(reply.status, std::move(reply.headers)), std::move(body),
                  std::move(outcome));
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
