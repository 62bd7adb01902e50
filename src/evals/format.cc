#include "evals/format.h"

#include <cstdio>
#include <cstdlib>

namespace agent_graph::evals {
namespace {

constexpr size_t kDoubleBytes = 352;  // longest text of a double in %f

}  // namespace

std::string Format(const char* format, double value) {
  char text[kDoubleBytes];
  int length = std::snprintf(text, sizeof text, format, value);
  return {text, static_cast<size_t>(length)};
}

double Rounded(double value, int decimals) {
  char text[kDoubleBytes];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return std::strtod(text, nullptr);
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
  return Rounded(rate * 100, 1);
}

}  // namespace agent_graph::evals
