#include "ngx_module/request/request_target.h"

#include "ngx_module/request/base_path.h"

namespace agent_graph::nginx {
namespace {

std::string RawPath(const ngx_http_request_t* request) {
  if (request->valid_unparsed_uri) {
    std::string_view raw = View(request->unparsed_uri);
    return std::string(raw.substr(0, raw.find_first_of("?#")));
  }
  uintptr_t escapes = ngx_escape_uri(nullptr, request->uri.data, request->uri.len, NGX_ESCAPE_URI);
  std::string path(request->uri.len + 2 * escapes, '\0');
  (void)ngx_escape_uri(reinterpret_cast<u_char*>(path.data()), request->uri.data, request->uri.len,
                       NGX_ESCAPE_URI);
  return path;
}

}  // namespace

std::optional<RequestTarget> LocateTarget(ngx_http_request_t* request, const ngx_str_t& base_path) {
  std::string raw = RawPath(request);
  std::optional<std::string_view> rest = StripBasePath(raw, View(base_path));
  if (!rest) return std::nullopt;
  RequestTarget target;
  if (!rest->starts_with('/')) target.path = "/";
  target.path += *rest;
  target.query = View(request->args);
  return target;
}

}  // namespace agent_graph::nginx
