#include "ngx_module/request/request_target.h"

#include <algorithm>

#include "ngx_module/request/base_path.h"

namespace agent_graph::nginx {
namespace {

std::string EscapedPath(const ngx_http_request_t* request) {
  uintptr_t escapes = ngx_escape_uri(nullptr, request->uri.data, request->uri.len, NGX_ESCAPE_URI);
  std::string path(request->uri.len + 2 * escapes, '\0');
  (void)ngx_escape_uri(reinterpret_cast<u_char*>(path.data()), request->uri.data, request->uri.len,
                       NGX_ESCAPE_URI);
  return path;
}

std::optional<RequestTarget> TargetBelow(std::string_view raw_path, const ngx_str_t& base_path,
                                         std::string_view query) {
  const std::optional<std::string_view> rest = StripBasePath(raw_path, View(base_path));
  if (!rest) return std::nullopt;
  RequestTarget target;
  if (!rest->starts_with('/')) target.path = "/";
  target.path += *rest;
  target.query = query;
  return target;
}

}  // namespace

std::optional<RequestTarget> LocateTarget(ngx_http_request_t* request, const ngx_str_t& base_path) {
  const std::string_view query = View(request->args);
  if (!request->valid_unparsed_uri) return TargetBelow(EscapedPath(request), base_path, query);
  const std::string_view raw = View(request->unparsed_uri);
  return TargetBelow(raw.substr(0, std::min(raw.find('?'), raw.find('#'))), base_path, query);
}

}  // namespace agent_graph::nginx
