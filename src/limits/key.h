// Rate-limit bucket keys.
#pragma once

#include <string>
#include <string_view>

#include "limits/options.h"

namespace agent_graph::limits {

// Returns the address of the client. `peer` is the connection's address as nginx reports it,
// without a port ("unix:" for a local socket); `forwarded_for` contains all X-Forwarded-For lines
// in order, joined by commas.
std::string ClientAddress(const RateLimitOptions& options, std::string_view peer,
                          std::string_view forwarded_for);

// Returns the bucket key of a request. An empty `user_id` is counted by address, so that refused
// credentials get no bucket of their own. The addresses of an IPv6 network of 64 bits share one,
// except for those that stand for IPv4 (64:ff9b::/96).
std::string BucketKey(const RateLimitOptions& options, std::string_view client_address,
                      std::string_view user_id);

// True if the rate limit does not apply to `path`.
bool IsExcluded(const RateLimitOptions& options, std::string_view path);

}  // namespace agent_graph::limits
