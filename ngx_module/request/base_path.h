// Removal of the location's prefix from a raw request path.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::nginx {

// Strips `base` from `raw_path`. `raw_path` is as the client sent it; `base` is as nginx.conf has
// it, decoded. The comparison is by decoded segment and ignores empty segments before and between
// those of `base`, as nginx does when it chooses the location. The rest is returned unchanged (""
// at the end of the path); nullopt if the path is not below `base`.
std::optional<std::string_view> StripBasePath(std::string_view raw_path, std::string_view base);

// The prefix of route paths in URLs: `base` percent-encoded, without a trailing slash; empty for
// "/".
std::string UrlPrefix(std::string_view base);

}  // namespace agent_graph::nginx
