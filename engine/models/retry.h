// When to call a provider again, and how long to wait before.
#pragma once

#include <chrono>
#include <cstdint>

namespace agent_graph::models {

inline constexpr std::chrono::milliseconds kRetryDelayFirst{500};
inline constexpr std::chrono::milliseconds kRetryDelayMax{8'000};
// A provider that wants a longer pause than this is not waited for.
inline constexpr std::chrono::milliseconds kRetryAfterMax{60'000};

// 408, 429 and 5xx.
bool IsRetryable(int http_status);

// Doubles with each attempt (0 is the first retry) up to the maximum; of that, `random` takes
// between a half and all, so that clients that failed together do not come back together.
std::chrono::milliseconds RetryDelay(int attempt, uint64_t random);

}  // namespace agent_graph::models
