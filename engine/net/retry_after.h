// The Retry-After header.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace agent_graph::net {

// Seconds, or an HTTP date compared with `now_unix_seconds`. Nothing when it is neither.
std::optional<std::chrono::milliseconds> ParseRetryAfter(std::string_view value,
                                                         int64_t now_unix_seconds);

}  // namespace agent_graph::net
