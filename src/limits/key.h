// Whom a request is counted for.
#pragma once

#include <string>
#include <string_view>

#include "limits/options.h"

namespace agent_graph::limits {

// `peer` is the connection's address as nginx has it, without a port ("unix:" for a local socket);
// `forwarded_for` all X-Forwarded-For lines in order, joined by commas.
std::string ClientAddress(const RateLimitOptions& options, std::string_view peer,
                          std::string_view forwarded_for);

// An empty `user_id` is counted by address: a credential that was refused buys no bucket.
std::string BucketKey(const RateLimitOptions& options, std::string_view client_address,
                      std::string_view user_id);

bool IsExcluded(const RateLimitOptions& options, std::string_view path);

}  // namespace agent_graph::limits
