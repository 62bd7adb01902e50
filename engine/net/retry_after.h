// Parser of the Retry-After header.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace agent_graph::net {

// The value is a number of seconds, or an HTTP date that is compared with `now_unix_seconds`.
// nullopt if it is neither.
std::optional<std::chrono::milliseconds> ParseRetryAfter(std::string_view value,
                                                         int64_t now_unix_seconds);

}  // namespace agent_graph::net
