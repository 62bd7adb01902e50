#include "ngx_module/request/request_headers.h"

#include <algorithm>
#include <string_view>

namespace agent_graph::nginx {
namespace {

// With its port. Empty for HTTP/1, whose request line may have a host without one.
std::string_view AuthorityOf(const ngx_http_request_t* request) {
  if (request->http_version < NGX_HTTP_VERSION_20 || request->host_start == nullptr) return {};
  return {reinterpret_cast<const char*>(request->host_start),
          static_cast<size_t>(request->host_end - request->host_start)};
}

}  // namespace

bridge::HeaderList CopyHeaders(const ngx_http_request_t* request) {
  bridge::HeaderList headers;
  ForEachRequestHeader(request, [&](std::string_view name, std::string_view value) {
    headers.emplace_back(name, value);
  });
  const std::string_view authority = AuthorityOf(request);
  if (authority.empty()) return headers;
  const auto is_host = [](const auto& header) { return header.first == "host"; };
  if (std::ranges::none_of(headers, is_host)) headers.emplace_back("host", authority);
  return headers;
}

}  // namespace agent_graph::nginx
