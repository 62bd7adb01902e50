#include "evals/format.h"

#include <cmath>
#include <cstdio>

namespace agent_graph::evals {

std::string Format(const char* format, double value) {
  char text[352];  // the longest double in %f
  int length = std::snprintf(text, sizeof text, format, value);
  return {text, static_cast<size_t>(length)};
}

std::string Ago(double seconds) {
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  constexpr int64_t kDay = 24 * kHour;
  auto whole = static_cast<int64_t>(seconds);
  if (whole < kMinute) return "just now";
  if (whole < kHour) return std::to_string(whole / kMinute) + "m ago";
  if (whole < kDay) return std::to_string(whole / kHour) + "h ago";
  return std::to_string(whole / kDay) + "d ago";
}

std::string TokenText(int64_t tokens) {
  if (tokens < 1000) return std::to_string(tokens) + " tok";
  return Format("%.1fk tok", static_cast<double>(tokens) / 1000);
}

std::string SecondsText(double value) {
  return Format("%.1fs", value);
}

double Percent(double rate) {
  return std::round(rate * 1000) / 10;
}

}  // namespace agent_graph::evals
