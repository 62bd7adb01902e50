// Percent-encoding of URLs (RFC 3986).
#pragma once

#include <string>
#include <string_view>

namespace agent_graph {

// Encodes every byte as %XX except unreserved characters (letters, digits and "-._~") and those in
// `kept`.
std::string PercentEncode(std::string_view text, std::string_view kept = {});

// False if an escape is invalid: a '%' without two hexadecimal digits after it. Then `out` is
// unspecified.
[[nodiscard]] bool PercentDecode(std::string_view text, std::string& out);

// An invalid escape stays as it is, as browsers and servers do in a query.
std::string PercentDecodeLeniently(std::string_view text);

}  // namespace agent_graph
