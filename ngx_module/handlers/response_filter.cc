// Completes the responses in our locations. Each response gets the service's common headers. Errors
// that nginx itself generates, such as 413 for client_max_body_size or 503 of its own limits, also
// get the headers and the body of the service's errors.
//
// This is a separate module: in an nginx that contains the module statically, content handlers are
// initialized before the filters that they would have to precede.
#include <optional>

#include "api/http/headers.h"
#include "base/clock.h"
#include "base/letter_case.h"
#include "ngx_module/callback.h"
#include "ngx_module/config.h"
#include "ngx_module/request/rate_limit.h"
#include "ngx_module/request/request_context.h"
#include "ngx_module/request/status_line.h"
#include "ngx_module/worker/worker_service.h"

namespace agent_graph::nginx {
namespace {

ngx_http_output_header_filter_pt next_response_head_filter;
ngx_http_output_body_filter_pt next_response_body_filter;

// Values that the modules limit_req and limit_conn store in a rejected request, independent of the
// status they return.
constexpr ngx_uint_t kLimitReqRejected = 3;
constexpr ngx_uint_t kLimitConnRejected = 2;

bool IsLimited(const ngx_http_request_t* request) {
  return request->main->limit_req_status == kLimitReqRejected ||
         request->main->limit_conn_status == kLimitConnRejected;
}

api::ApiError ErrorOfStatus(ngx_uint_t status) {
  switch (status) {
    case NGX_HTTP_UNAUTHORIZED:
      return api::ApiError::kUnauthenticated;
    case NGX_HTTP_FORBIDDEN:
      return api::ApiError::kPermissionDenied;
    case NGX_HTTP_NOT_FOUND:
      return api::ApiError::kNotFound;
    case NGX_HTTP_NOT_ALLOWED:
      return api::ApiError::kMethodNotAllowed;
    case NGX_HTTP_REQUEST_TIME_OUT:
      return api::ApiError::kRequestTimeout;
    case NGX_HTTP_REQUEST_ENTITY_TOO_LARGE:
      return api::ApiError::kRequestTooLarge;
    case NGX_HTTP_TOO_MANY_REQUESTS:
      return api::ApiError::kRateLimited;
    case NGX_HTTP_SERVICE_UNAVAILABLE:
      return api::ApiError::kOverloaded;
    case NGX_HTTP_BAD_GATEWAY:
      return api::ApiError::kUnavailable;
    case NGX_HTTP_GATEWAY_TIME_OUT:
      return api::ApiError::kTimeout;
    default:
      return status < NGX_HTTP_INTERNAL_SERVER_ERROR ? api::ApiError::kBadRequest
                                                     : api::ApiError::kInternal;
  }
}

api::Reply ReplyOf(const RequestContext& context) {
  const ngx_http_request_t* request = context.request;
  const ngx_uint_t status = request->headers_out.status;
  api::ErrorInfo error{ErrorOfStatus(status), "", {}, static_cast<int>(status)};
  if (status == NGX_HTTP_SERVICE_UNAVAILABLE && IsLimited(request)) {
    error.error = api::ApiError::kRateLimited;
  }
  // nginx does not report when there will be room, so the value is a guess of 1 second.
  if (error.error == api::ApiError::kRateLimited) error.retry_after_seconds = 1;
  return api::Refuse(error, IsHandshake(request), context.request_id, context.render_error);
}

// A browser sends its first request without credentials, so a 401 to such a request is no refusal.
bool IsRefusalOfCaller(const ngx_http_request_t* request) {
  const ngx_uint_t status = request->headers_out.status;
  if (status == NGX_HTTP_FORBIDDEN || status == NGX_HTTP_REQUEST_ENTITY_TOO_LARGE) return true;
  return status == NGX_HTTP_UNAUTHORIZED && request->headers_in.authorization != nullptr;
}

// Counts a request that nginx has refused before the rate limit was asked: a body above
// client_max_body_size, or one that would be counted by user, which then counts for its address.
// Returns the answer if the limit is exceeded.
std::optional<api::Reply> CountRefusalOfNginx(RequestContext& context) {
  ngx_http_request_t* request = context.request;
  if (!IsRefusalOfCaller(request)) return std::nullopt;
  std::optional<api::Reply> limited = CountRefusal(context);
  if (limited) {
    request->headers_out.status = request->err_status = static_cast<ngx_uint_t>(limited->status);
  }
  return limited;
}

const LocationConfig& LocationOf(ngx_http_request_t* request) {
  return *static_cast<LocationConfig*>(
      ngx_http_get_module_loc_conf(request, ngx_http_agent_graph_module));
}

// The context of a request whose error page is to be replaced, or null. Texts of "return"
// directives belong to the configuration and are not replaced.
RequestContext* ContextOfErrorPage(ngx_http_request_t* request) {
  const LocationConfig& location = LocationOf(request);
  if (location.enabled != 1 || request != request->main) return nullptr;
  if (request->err_status < NGX_HTTP_BAD_REQUEST) return nullptr;
  RequestContext* context = FindContext(request);
  if (context == nullptr) return OpenContext(request, location);
  return context->writer.has_head() ? nullptr : context;
}

ngx_int_t ReplaceHead(RequestContext& context) {
  ngx_http_request_t* request = context.request;
  if (context.worker != nullptr) context.worker->RequestGone(context);
  std::optional<api::Reply> limited = CountRefusalOfNginx(context);
  api::Reply reply = limited ? *std::move(limited) : ReplyOf(context);
  context.error_headers = std::move(reply.headers);
  context.error_body = std::move(reply.body);
  context.outcome = "rejected";
  context.ended = MonotonicMicros();

  auto& head = request->headers_out;
  ngx_http_clear_content_length(request);
  head.content_length_n = static_cast<off_t>(context.error_body.size());
  for (const auto& [name, value] : context.error_headers) {
    if (name == "Content-Type") {
      head.content_type = Reference(value);
      head.content_type_len = value.size();
      head.content_type_lowcase = nullptr;
    } else if (AddResponseHeader(request, name, value) == nullptr) {
      return NGX_ERROR;
    }
  }
  return NGX_OK;
}

bool HasHeader(ngx_http_request_t* request, std::string_view name) {
  bool found = false;
  ForEachResponseHeader(request, [&](const ngx_table_elt_t& header) {
    found = found || EqualsIgnoringCase(View(header.key), name);
  });
  return found;
}

size_t CountHeaders(const ngx_http_request_t* request) {
  size_t count = 0;
  const ngx_list_part_t* part = &request->headers_out.headers.part;
  for (; part != nullptr; part = part->next) count += part->nelts;
  return count;
}

ngx_int_t AddStandardHeaders(RequestContext& context) {
  ngx_http_request_t* request = context.request;
  const ngx_str_t timestamp = CopyToPool(request->pool, IsoTimestampText(UnixMicros()));
  if (timestamp.data == nullptr) return NGX_ERROR;
  const api::StandardHeaders headers(*context.location.service->settings,
                                     {.origin = context.origin,
                                      .request_id = context.request_id,
                                      .timestamp = View(timestamp),
                                      .https = context.https});
  const bool has_headers = CountHeaders(request) > 0;
  for (const api::StandardHeader& header : headers.list()) {
    if (header.is_default && has_headers && HasHeader(request, header.name)) continue;
    if (AddResponseHeader(request, header.name, header.value) == nullptr) return NGX_ERROR;
  }
  return NGX_OK;
}

// Completes the head of a response, whether it is the service's or an error page of nginx.
ngx_int_t CompleteHead(ngx_http_request_t* request) {
  RequestContext* const failed = ContextOfErrorPage(request);
  if (failed != nullptr && ReplaceHead(*failed) != NGX_OK) return NGX_ERROR;
  RequestContext* const context = FindContext(request);
  if (context == nullptr) return NGX_OK;
  const bool is_ours = failed != nullptr || context->writer.has_head();
  if (is_ours && AddStandardHeaders(*context) != NGX_OK) return NGX_ERROR;
  context->own_headers = CountHeaders(request);
  return NGX_OK;
}

ngx_int_t FilterHead(ngx_http_request_t* request) noexcept {
  const ngx_int_t completed = Guarded<ngx_int_t>(request->connection->log, NGX_ERROR,
                                                 [&] { return CompleteHead(request); });
  if (completed != NGX_OK) return NGX_ERROR;
  if (LocationOf(request).enabled == 1) SetStatusLine(request);
  return next_response_head_filter(request);
}

ngx_int_t FilterBody(ngx_http_request_t* request, ngx_chain_t* in) noexcept {
  RequestContext* context = FindContext(request);
  if (in == nullptr || context == nullptr || context->error_body.empty()) {
    return next_response_body_filter(request, in);
  }
  if (context->error_sent) return NGX_OK;
  context->error_sent = true;
  auto* buffer = static_cast<ngx_buf_t*>(ngx_calloc_buf(request->pool));
  if (buffer == nullptr) return NGX_ERROR;
  buffer->start = buffer->pos = reinterpret_cast<u_char*>(context->error_body.data());
  buffer->end = buffer->last = buffer->pos + context->error_body.size();
  buffer->memory = 1;
  buffer->last_buf = 1;
  buffer->last_in_chain = 1;
  ngx_chain_t out{buffer, nullptr};
  return next_response_body_filter(request, &out);
}

ngx_int_t InstallFilters(ngx_conf_t*) noexcept {
  next_response_head_filter = ngx_http_top_header_filter;
  ngx_http_top_header_filter = FilterHead;
  next_response_body_filter = ngx_http_top_body_filter;
  ngx_http_top_body_filter = FilterBody;
  return NGX_OK;
}

ngx_http_module_t response_filter_context = {
    nullptr, InstallFilters, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
};

}  // namespace
}  // namespace agent_graph::nginx

extern "C" {

ngx_module_t ngx_http_agent_graph_filter_module = {
    NGX_MODULE_V1, &agent_graph::nginx::response_filter_context,
    nullptr,       NGX_HTTP_MODULE,
    nullptr,       nullptr,
    nullptr,       nullptr,
    nullptr,       nullptr,
    nullptr,       NGX_MODULE_V1_PADDING,
};
}
