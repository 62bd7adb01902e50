// Headers that the configuration adds (add_header) replace those of the service if a header may
// occur only once: a browser rejects an answer with two Access-Control-Allow-Origin headers.
//
// This is a separate module, placed so that it runs after nginx's filter for add_header.
#include "base/letter_case.h"
#include "ngx_module/callback.h"
#include "ngx_module/request/request_context.h"

namespace agent_graph::nginx {
namespace {

ngx_http_output_header_filter_pt next_header_filter;

// Content-Security-Policy is not listed: several are valid and all of them apply, and the sandbox
// of a file must not be lost.
constexpr std::string_view kReplaceable[] = {
    "Access-Control-Allow-Credentials",
    "Access-Control-Allow-Headers",
    "Access-Control-Allow-Methods",
    "Access-Control-Allow-Origin",
    "Access-Control-Expose-Headers",
    "Access-Control-Max-Age",
    "Permissions-Policy",
    "Referrer-Policy",
    "Retry-After",
    "Strict-Transport-Security",
    "X-Accel-Buffering",
    "X-Content-Type-Options",
    "X-Frame-Options",
    "X-Request-ID",
    "X-XSS-Protection",
};

bool IsReplaceable(std::string_view name) {
  for (std::string_view known : kReplaceable) {
    if (EqualsIgnoringCase(name, known)) return true;
  }
  return false;
}

void HideReplaced(ngx_http_request_t* request, size_t own_headers) {
  size_t added_index = 0;
  ForEachResponseHeader(request, [&](const ngx_table_elt_t& added) {
    if (added_index++ < own_headers || added.hash == 0 || !IsReplaceable(View(added.key))) return;
    size_t index = 0;
    ForEachResponseHeader(request, [&](ngx_table_elt_t& own) {
      const bool is_own = index++ < own_headers;
      if (is_own && EqualsIgnoringCase(View(own.key), View(added.key))) own.hash = 0;
    });
  });
}

ngx_int_t FilterAddedHeaders(ngx_http_request_t* request) noexcept {
  if (const RequestContext* context = FindContext(request)) {
    HideReplaced(request, context->own_headers);
  }
  return next_header_filter(request);
}

ngx_int_t InstallFilter(ngx_conf_t*) noexcept {
  next_header_filter = ngx_http_top_header_filter;
  ngx_http_top_header_filter = FilterAddedHeaders;
  return NGX_OK;
}

ngx_http_module_t header_filter_context = {
    nullptr, InstallFilter, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
};

}  // namespace
}  // namespace agent_graph::nginx

extern "C" {

ngx_module_t ngx_http_agent_graph_header_filter_module = {
    NGX_MODULE_V1, &agent_graph::nginx::header_filter_context,
    nullptr,       NGX_HTTP_MODULE,
    nullptr,       nullptr,
    nullptr,       nullptr,
    nullptr,       nullptr,
    nullptr,       NGX_MODULE_V1_PADDING,
};
}
