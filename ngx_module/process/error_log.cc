#include "ngx_module/process/error_log.h"

#include <new>
#include <string>

#include "auth/credential.h"
#include "ngx_module/config.h"

namespace agent_graph::nginx {
namespace {

ngx_http_log_handler_pt next_log_handler;  // nginx's own handler, the same for each request

u_char* DescribeRequest(ngx_http_request_t* request, ngx_http_request_t* current, u_char* buffer,
                        size_t size) noexcept {
  const ngx_str_t line = request->request_line;
  std::string shown;
  try {
    shown = auth::HideQueryTokens(View(line));
  } catch (const std::bad_alloc&) {
    shown.clear();
  }
  request->request_line = Reference(shown);
  buffer = next_log_handler(request, current, buffer, size);
  request->request_line = line;
  return buffer;
}

// Installs DescribeRequest. This runs in every server, because the location is not known yet, and
// an error logged from here on may include the request line.
ngx_int_t HideTokens(ngx_http_request_t* request) noexcept {
  if (request->log_handler != DescribeRequest) {
    next_log_handler = request->log_handler;
    request->log_handler = DescribeRequest;
  }
  return NGX_DECLINED;
}

}  // namespace

ngx_int_t HideTokensInErrorLog(ngx_conf_t* cf) noexcept {
  const auto& config = *static_cast<MainConfig*>(
      ngx_http_conf_get_module_main_conf(cf, ngx_http_agent_graph_module));
  if (config.services == nullptr || config.services->empty()) return NGX_OK;
  auto* core = static_cast<ngx_http_core_main_conf_t*>(
      ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
  // The first phase is the normal case. A request that nginx rejects while it reads the header
  // starts at the second phase (with an error_page) or at the third (with a named error_page).
  for (ngx_http_phases phase :
       {NGX_HTTP_POST_READ_PHASE, NGX_HTTP_SERVER_REWRITE_PHASE, NGX_HTTP_REWRITE_PHASE}) {
    // nginx runs the handlers of a phase in reverse order, so the last one runs first.
    auto* handler =
        static_cast<ngx_http_handler_pt*>(ngx_array_push(&core->phases[phase].handlers));
    if (handler == nullptr) return NGX_ERROR;
    *handler = HideTokens;
  }
  return NGX_OK;
}

}  // namespace agent_graph::nginx
