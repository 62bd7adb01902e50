// The prefix of a location, cut off a raw path.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::nginx {

// `raw_path` as sent; `base` as nginx.conf has it, decoded. Compared segment by segment on the
// decoded form, empty segments before and between those of `base` ignored as nginx does when it
// chooses the location; what follows is returned untouched ("" at the end of the path). Nothing
// when the path does not lie below `base`.
std::optional<std::string_view> StripBasePath(std::string_view raw_path, std::string_view base);

// What comes before the path of a route in URLs: `base` percent-encoded, without a slash at its
// end; empty for "/".
std::string UrlPrefix(std::string_view base);

}  // namespace agent_graph::nginx
