#include "telemetry/trace_context.h"

#include <algorithm>

#include "base/hex.h"

namespace agent_graph::telemetry {
namespace {

constexpr size_t kVersionEnd = 2;
constexpr size_t kTraceEnd = 35;
constexpr size_t kSpanEnd = 52;
constexpr size_t kLength = 55;

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return LowerHexValue(c) >= 0; });
}

bool IsId(std::string_view text) {
  return IsHex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

std::optional<TraceParent> ParseTraceParent(std::string_view header) {
  if (header.size() < kLength || header[kVersionEnd] != '-' || header[kTraceEnd] != '-' ||
      header[kSpanEnd] != '-') {
    return std::nullopt;
  }
  const std::string_view version = header.substr(0, kVersionEnd);
  if (!IsHex(version) || version == "ff") return std::nullopt;
  // Only versions after 00 may append more fields.
  if (header.size() > kLength && (version == "00" || header[kLength] != '-')) return std::nullopt;
  const std::string_view trace_id = header.substr(kVersionEnd + 1, 32);
  const std::string_view span_id = header.substr(kTraceEnd + 1, 16);
  const std::string_view flags = header.substr(kSpanEnd + 1, 2);
  if (!IsId(trace_id) || !IsId(span_id) || !IsHex(flags)) return std::nullopt;
  return TraceParent{std::string(trace_id), std::string(span_id),
                     (LowerHexValue(flags[1]) & 1) != 0};
}

}  // namespace agent_graph::telemetry
