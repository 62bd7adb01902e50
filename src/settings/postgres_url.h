// Checks of the URLs of PostgreSQL databases, without a connection.
#pragma once

#include <string_view>

#include "base/status.h"

namespace agent_graph::settings {

// Checks a connection URI as libpq reads it:
// postgresql://[user[:password]@][host[:port][,…]]/database
// [?name=value&…]. Also checks that the certificate files that it names can be read. Failures quote
// no part of the URL that may belong to a password which was not percent-encoded.
Status CheckPostgresUrl(std::string_view url);

}  // namespace agent_graph::settings
