#include "ngx_module/handlers/status_page.h"

#include "ngx_module/callback.h"
#include "ngx_module/directive_values.h"
#include "ngx_module/process/process.h"
#include "ngx_module/status/status_report.h"

namespace agent_graph::nginx {
namespace {

constexpr std::string_view kContentTypes[] = {"text/plain", "application/json",
                                              "text/plain; version=0.0.4; charset=utf-8"};

void DestroyText(void* data) noexcept {
  static_cast<std::string*>(data)->~basic_string();
}

ngx_int_t SendText(ngx_http_request_t* request, std::string text, std::string_view type) {
  ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(request->pool, sizeof(std::string));
  auto* buffer = static_cast<ngx_buf_t*>(ngx_pcalloc(request->pool, sizeof(ngx_buf_t)));
  if (cleanup == nullptr || buffer == nullptr) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  auto* body = new (cleanup->data) std::string(std::move(text));
  cleanup->handler = DestroyText;

  request->headers_out.status = NGX_HTTP_OK;
  request->headers_out.content_length_n = static_cast<off_t>(body->size());
  request->headers_out.content_type = Reference(type);
  request->headers_out.content_type_len = type.size();
  request->headers_out.content_type_lowcase = nullptr;
  ngx_int_t rc = ngx_http_send_header(request);
  if (rc == NGX_ERROR || rc > NGX_OK || request->header_only) return rc;
  buffer->start = buffer->pos = reinterpret_cast<u_char*>(body->data());
  buffer->end = buffer->last = buffer->pos + body->size();
  // The service list may be empty, and nginx treats an empty memory buffer as an error.
  buffer->memory = body->empty() ? 0 : 1;
  buffer->last_buf = request == request->main ? 1 : 0;
  buffer->last_in_chain = 1;
  ngx_chain_t out{buffer, nullptr};
  return ngx_http_output_filter(request, &out);
}

ngx_int_t Answer(ngx_http_request_t* request) {
  if ((request->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) return NGX_HTTP_NOT_ALLOWED;
  ngx_int_t rc = ngx_http_discard_request_body(request);
  if (rc != NGX_OK) return rc;
  const auto& location = *static_cast<LocationConfig*>(
      ngx_http_get_module_loc_conf(request, ngx_http_agent_graph_module));
  const auto& main = *static_cast<MainConfig*>(
      ngx_http_get_module_main_conf(request, ngx_http_agent_graph_module));
  ReportStatus(0);
  auto format = static_cast<StatusFormat>(location.status_format);
  return SendText(request, WriteStatus(*main.services, format),
                  kContentTypes[location.status_format]);
}

ngx_int_t HandleStatus(ngx_http_request_t* request) noexcept {
  return Guarded<ngx_int_t>(request->connection->log, NGX_HTTP_INTERNAL_SERVER_ERROR,
                            [&] { return Answer(request); });
}

}  // namespace

char* StatusDirective(ngx_conf_t* cf, ngx_command_t*, void* conf) noexcept {
  static constexpr std::string_view kFormats[] = {"text", "json", "prometheus"};
  constexpr std::string_view kFormat = "format=";
  auto* location = static_cast<LocationConfig*>(conf);
  auto* core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  if (core->handler == HandleStatus) return const_cast<char*>("is duplicate");
  auto* arguments = static_cast<ngx_str_t*>(cf->args->elts);
  location->status_format = 0;
  if (cf->args->nelts == 2) {
    std::string_view text = View(arguments[1]);
    ngx_uint_t chosen = std::size(kFormats);
    for (ngx_uint_t i = 0; i < std::size(kFormats); ++i) {
      if (text.starts_with(kFormat) && text.substr(kFormat.size()) == kFormats[i]) chosen = i;
    }
    if (chosen == std::size(kFormats)) {
      return RefuseValue(cf, arguments[1], "is not format= with text, json or prometheus");
    }
    location->status_format = chosen;
  }
  core->handler = HandleStatus;
  return NGX_CONF_OK;
}

}  // namespace agent_graph::nginx
