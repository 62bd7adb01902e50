// Content negotiation of compressed answers (RFC 9110, 12.5.3).
#pragma once

#include <string_view>

namespace agent_graph::api {

// True if the value of Accept-Encoding allows gzip. An absent header (empty text) does not.
bool AcceptsGzip(std::string_view accept_encoding);

}  // namespace agent_graph::api
