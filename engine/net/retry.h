// Rules for retrying calls of a server.
#pragma once

#include <chrono>
#include <cstdint>

namespace agent_graph::net {

inline constexpr std::chrono::milliseconds kRetryDelayFirst{500};
inline constexpr std::chrono::milliseconds kRetryDelayMax{8'000};
// If a model provider asks for a longer pause, there is no retry.
inline constexpr std::chrono::milliseconds kRetryAfterMax{60'000};

// 408, 429 and 5xx.
bool IsRetryable(int http_status);

// The delay doubles with each attempt (0 is the first retry) up to the maximum. `random` adds
// jitter: the result is between half and all of it, so that clients that failed together do not
// retry together.
std::chrono::milliseconds RetryDelay(int attempt, uint64_t random);

}  // namespace agent_graph::net
