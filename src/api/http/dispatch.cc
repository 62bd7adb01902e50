#include "api/http/dispatch.h"

#include <exception>
#include <optional>

#include "api/http/body.h"
#include "api/http/page_reads.h"
#include "api/http/query.h"
#include "api/http/request_memory.h"
#include "api/http/socket.h"

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

PageReads& ReadsOf(const HandlerContext& context) {
  const bool searches = Query(context.head().query).Find("search").has_value();
  return searches ? *context.api().page_searches : *context.api().page_reads;
}

// Does what precedes the handler. Answers a request that it refuses, and returns false. This
// function and AnswerFault are not inlined, so that the stack of a handler that waits has no room
// for them.
[[gnu::noinline]] bool MayHandle(HandlerContext& context, const Route& route,
                                 PageReads::Place& place) {
  const auto refuse = [&](const ErrorInfo& error) {
    context.Fail(error);
    return false;
  };
  if (route.handler == nullptr) return refuse({ApiError::kNotFound, "", {}});
  if (!context.Admit(route)) return false;
  if (route.closed != nullptr) {
    if (auto error = route.closed(*context.api().settings)) return refuse(*error);
  }
  if (route.permission.resource == auth::Resource::kCheckpointer &&
      context.api().state == nullptr) {
    return refuse({ApiError::kNotConfigured, "checkpointer not configured", {}});
  }
  if (route.permission.resource == auth::Resource::kStore && context.api().memory == nullptr) {
    return refuse({ApiError::kNotConfigured, "store not configured", {}});
  }
  if (auto error = ReadBody(context, route.body)) return refuse(*error);
  if (!context.AdmitBodyThread(route)) return false;
  if (auto error = CheckShape(context, route)) return refuse(*error);
  if (route.reads_page) {
    if (auto error = EnterPageReads(context.exchange(), ReadsOf(context),
                                    context.api().settings->limits, place)) {
      return refuse(*error);
    }
  }
  return true;
}

// If the head of a stream was sent, the response can only be ended.
[[gnu::noinline]] void AnswerFault(HandlerContext& context, const char* what) {
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
    PageReads::Place place;
    if (MayHandle(context, context.route(), place)) context.route().handler(context);
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
