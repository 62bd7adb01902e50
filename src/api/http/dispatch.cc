#include "api/http/dispatch.h"

#include <exception>
#include <optional>

#include "api/http/body.h"
#include "api/http/page_reads.h"
#include "api/http/request_memory.h"
#include "api/http/socket.h"
#include "base/clock.h"

namespace agent_graph::api {
namespace {

// Checks the body against the route's table, and the ids of the path, so that one response reports
// all problems.
std::optional<ErrorInfo> CheckShape(HandlerContext& context, const Route& route) {
  if (route.shape.body == nullptr) return std::nullopt;
  Problems problems;
  if (route.pattern.find("{thread_id}") != std::string_view::npos) context.ThreadId(problems);
  if (route.pattern.find("{message_id}") != std::string_view::npos) context.MessageId(problems);
  CheckFields(context.body(), route.shape.body->fields, {"body"}, problems);
  if (problems.empty()) return std::nullopt;
  return std::move(problems).Error();
}

// Waits for a place of a request whose answer may be large. Refuses it if answers that clients have
// not read take all memory: it began before they were there.
std::optional<ErrorInfo> EnterPageReads(HandlerContext& context, PageReads::Place& place) {
  const bool searches = context.head().query.find("search=") != std::string::npos;
  PageReads& reads = searches ? *context.api().page_searches : *context.api().page_reads;
  Result<PageReads::Place> entered =
      reads.Enter(context.exchange().cancellation(), DeadlineAfter(kMemoryWaitMax));
  if (entered.ok()) {
    place = *std::move(entered);
    if (!context.exchange().worker_is_full()) return std::nullopt;
  } else if (entered.status().code() != StatusCode::kDeadlineExceeded) {
    return ErrorOf(entered.status());
  }
  return ErrorInfo{ApiError::kOverloaded, "this worker buffers as much as it may", {}};
}

void Handle(HandlerContext& context, const Route& route) {
  if (!context.Admit(route)) return;
  if (route.closed != nullptr) {
    if (std::optional<ErrorInfo> error = route.closed(*context.api().settings)) {
      context.Fail(*error);
      return;
    }
  }
  if (route.permission.resource == auth::Resource::kCheckpointer &&
      context.api().state == nullptr) {
    context.Fail(ErrorInfo{ApiError::kNotConfigured, "checkpointer not configured", {}});
    return;
  }
  if (route.permission.resource == auth::Resource::kStore && context.api().memory == nullptr) {
    context.Fail(ErrorInfo{ApiError::kNotConfigured, "store not configured", {}});
    return;
  }
  if (std::optional<ErrorInfo> error = ReadBody(context, route.body)) {
    context.Fail(*error);
    return;
  }
  if (!context.AdmitBodyThread(route)) return;
  if (std::optional<ErrorInfo> error = CheckShape(context, route)) {
    context.Fail(*error);
    return;
  }
  PageReads::Place place;
  if (route.reads_page) {
    if (std::optional<ErrorInfo> error = EnterPageReads(context, place)) {
      context.Fail(*error);
      return;
    }
  }
  route.handler(context);
}

// If the head of a stream was sent, the response can only be ended.
void AnswerFault(HandlerContext& context, const char* what) {
  context.Log(bridge::LogLevel::kError,
              context.head().method + " " + context.head().path + ": " + what);
  if (context.exchange().head_sent()) {
    context.exchange().End("error");
  } else {
    context.Fail(ErrorInfo{ApiError::kInternal, "", {}});
  }
}

void Answer(bridge::Exchange& exchange, const ApiContext& api) {
  HandlerContext context(exchange, api);
  try {
    const Route& route = context.route();
    if (route.handler == nullptr) {
      context.Fail(ErrorInfo{ApiError::kNotFound, "", {}});
      return;
    }
    Handle(context, route);
  } catch (const std::exception& exception) {
    AnswerFault(context, exception.what());
  }
}

}  // namespace

void Dispatch(const bridge::ExchangePtr& exchange, const ApiContext& api) {
  if (exchange->head().websocket) return DispatchSocket(*exchange, api);
  Answer(*exchange, api);
  exchange->Hold(0);
}

}  // namespace agent_graph::api
