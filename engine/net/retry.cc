#include "net/retry.h"

#include <algorithm>

namespace agent_graph::net {

bool IsRetryable(int http_status) {
  return http_status == 408 || http_status == 429 || (http_status >= 500 && http_status <= 599);
}

std::chrono::milliseconds RetryDelay(int attempt, uint64_t random) {
  std::chrono::milliseconds delay = kRetryDelayFirst;
  for (int i = 0; i < attempt && delay < kRetryDelayMax; ++i) delay *= 2;
  const int64_t half = std::min(delay, kRetryDelayMax).count() / 2;
  return std::chrono::milliseconds(half + static_cast<int64_t>(random % (half + 1)));
}

}  // namespace agent_graph::net
