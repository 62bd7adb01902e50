#include "net/retry_after.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace agent_graph::net {
namespace {

constexpr double kSecondsMax = 1e6;

}  // namespace

std::optional<std::chrono::milliseconds> ParseRetryAfter(std::string_view value,
                                                         int64_t now_unix_seconds) {
  if (value.empty()) return std::nullopt;
  double seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error != std::errc() || end != value.data() + value.size()) {
    const time_t date = curl_getdate(std::string(value).c_str(), nullptr);
    if (date < 0) return std::nullopt;
    seconds = static_cast<double>(date - now_unix_seconds);
  }
  if (std::isnan(seconds)) return std::nullopt;
  seconds = std::clamp(seconds, 0.0, kSecondsMax);
  return std::chrono::milliseconds(static_cast<int64_t>(std::ceil(seconds * 1000)));
}

}  // namespace agent_graph::net
