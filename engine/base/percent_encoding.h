// Percent-encoding as URLs have it (RFC 3986).
#pragma once

#include <string>
#include <string_view>

namespace agent_graph {

// Everything becomes %XX but unreserved characters (letters, digits and "-._~") and those in
// `kept`.
std::string PercentEncode(std::string_view text, std::string_view kept = {});

// False when an escape is broken: a '%' without two digits after it. `out` means nothing then.
[[nodiscard]] bool PercentDecode(std::string_view text, std::string& out);

// A broken escape stays as it is, the way browsers and servers treat it in a query.
std::string PercentDecodeLeniently(std::string_view text);

}  // namespace agent_graph
