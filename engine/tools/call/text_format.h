// Formats of texts that the forms of MCP servers may demand: email, uri, date and date-time.
#pragma once

#include <string_view>

namespace agent_graph::tools {

// True if `text` has the format, a value of JSON Schema's `format`, or if the format is unknown.
// Addresses and URIs are only checked for what makes them unusable, because the server checks them
// again by rules of its own. Dates are those of RFC 3339.
bool HasFormat(std::string_view text, std::string_view format);

}  // namespace agent_graph::tools
