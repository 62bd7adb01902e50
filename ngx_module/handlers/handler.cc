// The content handler: routes a request, answers it here if no engine is needed, and otherwise
// submits it.
#include <utility>
#include <vector>

#include "api/http/headers.h"
#include "api/resources/ping.h"
#include "api/resources/ready.h"
#include "api/routes.h"
#include "ngx_module/callback.h"
#include "ngx_module/handlers/documentation.h"
#include "ngx_module/handlers/studio.h"
#include "ngx_module/process/process.h"
#include "ngx_module/request/body_reader.h"
#include "ngx_module/request/nginx_user.h"
#include "ngx_module/request/rate_limit.h"
#include "ngx_module/request/request_context.h"
#include "ngx_module/request/request_headers.h"
#include "ngx_module/worker/worker_service.h"
#include "websocket/handshake.h"

namespace agent_graph::nginx {
namespace {

// Requests that are refused before authentication count against the rate limit, too.
ngx_int_t Refuse(RequestContext& context, api::Reply reply) {
  std::optional<api::Reply> limited = CountRefusal(context);
  return SendNativeReply(context, limited ? *std::move(limited) : std::move(reply), "rejected");
}

ngx_int_t Refuse(RequestContext& context, const api::ErrorInfo& error) {
  return Refuse(context, context.render_error(error, context.request_id));
}

// Called by nginx when the body is complete.
void OnBody(ngx_http_request_t* request) noexcept {
  ngx_int_t rc = Guarded<ngx_int_t>(
      request->connection->log, NGX_HTTP_INTERNAL_SERVER_ERROR, [&]() -> ngx_int_t {
        RequestContext* context = FindContext(request);
        Result<bridge::Body> body = TakeBody(request, BodyBytesMax(context->location));
        if (body.ok() && context->worker->HasRoomFor(body->size())) {
          return context->worker->Submit(*context, std::move(body).value());
        }
        if (body.ok()) return Refuse(*context, api::NoRoomError());
        api::ErrorInfo error = api::ErrorOf(body.status());
        if (body.status().code() == StatusCode::kResourceExhausted) {
          error.error = api::ApiError::kRequestTooLarge;
        }
        return Refuse(*context, error);
      });
  // NGX_DONE: the request was submitted and now ends when its exchange ends.
  if (rc != NGX_DONE) ngx_http_finalize_request(request, rc);
}

// True if the body is to be read only after the engine has authenticated the caller. A body that
// has arrived already is passed on at once.
bool WaitsForCredentials(const RequestContext& context) {
  const ngx_http_request_t* request = context.request;
  const settings::Settings& settings = *context.location.service->settings;
  if (settings.authentication.method == settings::AuthenticationSettings::Method::kNone) {
    return false;
  }
  if (request->headers_in.chunked) return true;
  off_t length = request->headers_in.content_length_n;
  if (length <= 0) return false;
  bool here = request->http_version < NGX_HTTP_VERSION_20 &&
              length <= request->header_in->last - request->header_in->pos;
  return !here;
}

ngx_int_t SubmitWithoutBody(RequestContext& context) {
  ngx_http_request_t* request = context.request;
  ++request->main->count;  // for the exchange, as reading a body would have added one
  ngx_int_t rc = context.worker->Submit(context, std::nullopt);
  if (rc != NGX_DONE) --request->main->count;
  return rc;
}

ngx_int_t ReadBodyAndSubmit(RequestContext& context) {
  ngx_http_request_t* request = context.request;
  context.worker = FindWorkerService(*context.location.service);
  if (context.worker == nullptr || !context.worker->running()) {
    return Refuse(context, {api::ApiError::kUnavailable, "the service did not start", {}});
  }
  if (context.late_body.streamed()) {
    if (!context.worker->HasRoomFor(bridge::kBodyWindowBytes)) {
      return Refuse(context, api::NoRoomError());
    }
    context.head.late_body_bytes = LargeBodyInMemory(request);
    return SubmitWithoutBody(context);
  }
  uint64_t bytes_max = BodyBytesMax(context.location);
  if (request->headers_in.content_length_n > static_cast<off_t>(bytes_max)) {
    return Refuse(context,
                  {api::ApiError::kRequestTooLarge,
                   "the request body is larger than " + std::to_string(bytes_max) + " bytes",
                   {}});
  }
  if (!context.worker->HasRoomFor(std::max<off_t>(request->headers_in.content_length_n, 0))) {
    return Refuse(context, api::NoRoomError());
  }
  request->request_body_file_log_level = 0;  // temporary files are normal here, no warning
  // Bodies in files take no memory until the engine reads them.
  context.head.late_body_bytes = LargeBodyInMemory(request);
  if (context.head.late_body_bytes > 0 || WaitsForCredentials(context)) {
    return SubmitWithoutBody(context);
  }
  ngx_int_t rc = ngx_http_read_client_request_body(request, OnBody);
  if (rc == NGX_HTTP_REQUEST_ENTITY_TOO_LARGE) {
    return Refuse(context, {api::ApiError::kRequestTooLarge, "", {}});
  }
  return rc >= NGX_HTTP_SPECIAL_RESPONSE ? rc : NGX_DONE;
}

// Answers a request that is not a valid handshake because of its protocol or headers.
ngx_int_t RefuseUpgrade(RequestContext& context, const websocket::HandshakeFault& fault) {
  api::ErrorInfo error{api::ApiError::kBadRequest, std::string(fault.text), {}};
  if (fault.status != NGX_HTTP_BAD_REQUEST) {
    error.status = fault.status;
    error.code = "UPGRADE_REQUIRED";
  }
  api::Reply reply = context.render_error(error, context.request_id);
  if (fault.status != NGX_HTTP_BAD_REQUEST) {
    reply.headers.emplace_back("Upgrade", "websocket");
    reply.headers.emplace_back("Sec-WebSocket-Version", "13");
  }
  return Refuse(context, std::move(reply));
}

ngx_int_t RefuseSocket(RequestContext& context, const api::ErrorInfo& error) {
  return Refuse(context, api::Refuse(error, true, context.request_id, context.render_error));
}

// Checks of a handshake that need no authentication.
ngx_int_t OpenSocket(RequestContext& context) {
  ngx_http_request_t* request = context.request;
  const settings::Settings& settings = *context.location.service->settings;
  if (request->method != NGX_HTTP_GET) {
    return Refuse(context, api::MethodNotAllowedReply("GET, OPTIONS", context.request_id));
  }
  if (request->http_version != NGX_HTTP_VERSION_11) {
    return RefuseUpgrade(context, {NGX_HTTP_BAD_REQUEST, "a WebSocket begins with HTTP/1.1"});
  }
  if (request->headers_in.content_length_n > 0 || request->headers_in.chunked) {
    return RefuseUpgrade(context, {NGX_HTTP_BAD_REQUEST, "a handshake has no body"});
  }
  if (auto fault = websocket::CheckHandshake(context.head.headers)) {
    return RefuseUpgrade(context, *fault);
  }
  if (!context.origin.empty() && !api::OriginAllowed(settings.cors, context.origin)) {
    return RefuseSocket(context,
                        {api::ApiError::kPermissionDenied, "the origin is not allowed", {}});
  }
  context.worker = FindWorkerService(*context.location.service);
  if (context.worker != nullptr && !context.worker->OpenWebSocket(context)) {
    return RefuseSocket(context,
                        {api::ApiError::kOverloaded, "too many WebSocket connections", {}});
  }
  return ReadBodyAndSubmit(context);
}

ngx_int_t AnswerPreflight(RequestContext& context, const api::RouteMatch& match) {
  api::Reply reply;
  reply.status = NGX_HTTP_NO_CONTENT;
  if (!match.allow.empty()) reply.headers.emplace_back("Allow", match.allow);
  api::AppendPreflightHeaders(reply.headers, *context.location.service->settings, context.origin,
                              FindRequestHeader(context.request, "access-control-request-headers"));
  return SendNativeReply(context, std::move(reply), "ok");
}

// The pages use relative paths, which a trailing slash would change.
ngx_int_t RedirectToPage(RequestContext& context, std::string_view path) {
  path.remove_suffix(1);
  api::Reply reply;
  reply.status = NGX_HTTP_PERMANENT_REDIRECT;
  reply.headers.emplace_back("Location", "../" + std::string(path.substr(path.rfind('/') + 1)));
  return SendNativeReply(context, std::move(reply), "ok");
}

ngx_int_t AnswerHealthCheck(RequestContext& context, const api::Route& route) {
  if (route.pattern == "/ping") {
    return SendNativeReply(context, api::PingReply(context.request_id), "ok");
  }
  std::vector<api::ReadyPart> failing = {api::ReadyPart::kGraph};
  const WorkerService* worker = FindWorkerService(*context.location.service);
  if (worker != nullptr && worker->running()) failing = worker->FailingParts();
  return SendNativeReply(context, api::ReadyReply(failing, context.request_id),
                         failing.empty() ? "ok" : "error");
}

// Studio's page refers to its files, and to the API, relative to "ui/".
ngx_int_t AnswerStudio(RequestContext& context, const api::RouteMatch& match) {
  if (!match.path_parameters.empty()) {
    return SendStudio(context, match.trailing_slash ? "/" : match.path_parameters[0]);
  }
  if (match.trailing_slash || context.location.studio == nullptr) return SendStudio(context, "");
  api::Reply reply;
  reply.status = NGX_HTTP_PERMANENT_REDIRECT;
  reply.headers.emplace_back("Location", "ui/");
  return SendNativeReply(context, std::move(reply), "ok");
}

// Answers the routes of the event loop.
ngx_int_t AnswerNative(RequestContext& context, const api::RouteMatch& match) {
  const api::Route& route = api::Routes()[match.route];
  if (route.access != api::Access::kDocumentation) return AnswerHealthCheck(context, route);
  if (route.pattern.starts_with("/ui")) return AnswerStudio(context, match);
  if (match.trailing_slash && context.location.documentation != nullptr) {
    return RedirectToPage(context, context.head.path);
  }
  return SendDocumentation(context, match.path_parameters.empty()
                                        ? std::string(route.pattern)
                                        : "/docs/" + match.path_parameters[0]);
}

ngx_int_t Dispatch(RequestContext& context) {
  ngx_http_request_t* request = context.request;
  bridge::RequestHead& head = context.head;
  std::string_view method = View(request->method_name);
  const settings::FacadesSettings& facades = context.location.service->settings->facades;
  api::RouteMatch match = api::MatchRoute(facades, method, head.path);
  if (match.kind == api::RouteMatch::Kind::kNotFound) {
    return Refuse(context, {api::ApiError::kNotFound, "", {}});
  }
  if (match.kind == api::RouteMatch::Kind::kMethodNotAllowed) {
    if (request->method == NGX_HTTP_OPTIONS) return AnswerPreflight(context, match);
    return Refuse(
        context, api::MethodNotAllowedReply(match.allow, context.request_id, context.render_error));
  }
  const api::Route& route = api::Routes()[match.route];
  context.route = route.pattern;
  context.render_error = route.render_error;
  if (route.native) return AnswerNative(context, match);

  head.route = match.route;
  head.path_parameters = std::move(match.path_parameters);
  head.method = method;
  head.base_path = View(context.location.url_prefix);
  head.headers = CopyHeaders(request);
  head.peer_address = View(request->connection->addr_text);
  head.request_id = context.request_id;
  head.received_micros = context.received;
  head.run_timeout_ms = context.location.run_timeout;
  head.https = context.https;
  head.websocket = route.transport != api::Transport::kHttp;
  context.transport = route.transport;
  if (!ReadNginxUser(context)) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  if (route.body == api::BodyKind::kStream) context.late_body.SetStreamed();
  return head.websocket ? OpenSocket(context) : ReadBodyAndSubmit(context);
}

// Logs the warning once, because such a configuration makes a subrequest with each request.
ngx_int_t RefuseSubrequest(ngx_http_request_t* request) {
  static bool warned = false;
  if (!std::exchange(warned, true)) {
    ngx_log_error(NGX_LOG_WARN, request->connection->log, 0,
                  "agent_graph: subrequests (auth_request, mirror, ...) are not served, this and "
                  "further ones are refused");
  }
  return NGX_HTTP_FORBIDDEN;
}

ngx_int_t Handle(ngx_http_request_t* request) {
  const auto& location = *static_cast<LocationConfig*>(
      ngx_http_get_module_loc_conf(request, ngx_http_agent_graph_module));
  if (location.enabled != 1) return NGX_DECLINED;
  if (request != request->main) return RefuseSubrequest(request);
  RequestContext* context = OpenContext(request, location);
  if (context == nullptr) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  if (!context->is_below_base_path) return Refuse(*context, {api::ApiError::kNotFound, "", {}});
  return Dispatch(*context);
}

}  // namespace

ngx_int_t HandleRequest(ngx_http_request_t* request) noexcept {
  return Guarded<ngx_int_t>(request->connection->log, NGX_HTTP_INTERNAL_SERVER_ERROR,
                            [&] { return Handle(request); });
}

}  // namespace agent_graph::nginx
