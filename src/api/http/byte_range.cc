#include "api/http/byte_range.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/letter_case.h"
#include "base/text.h"

namespace agent_graph::api {
namespace {

constexpr std::string_view kUnit = "bytes=";
constexpr uint64_t kFar = std::numeric_limits<uint64_t>::max();

// Parses a text of digits only; a number that does not fit becomes kFar.
std::optional<uint64_t> Number(std::string_view text) {
  if (text.empty()) return std::nullopt;
  uint64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    auto digit = static_cast<uint64_t>(c - '0');
    value = value > (kFar - digit) / 10 ? kFar : value * 10 + digit;
  }
  return value;
}

}  // namespace

ByteRange ReadRange(std::string_view range, std::string_view if_range, std::string_view etag,
                    uint64_t size) {
  using Kind = ByteRange::Kind;
  const ByteRange whole{Kind::kWhole, 0, size};
  if (!StartsWithIgnoringCase(range, kUnit)) return whole;
  // The client has another version, or sent a date, for which we have nothing to compare: a part
  // would not match its copy.
  if (!if_range.empty() && Trim(if_range) != etag) return whole;
  std::string_view spec = Trim(range.substr(kUnit.size()));
  size_t dash = spec.find('-');
  if (dash == std::string_view::npos) return whole;
  std::string_view before = spec.substr(0, dash);
  std::string_view after = spec.substr(dash + 1);
  std::optional<uint64_t> first = Number(before);
  std::optional<uint64_t> last = Number(after);
  if (before.empty()) {  // a suffix range: the last bytes
    if (!last) return whole;
    uint64_t length = std::min(*last, size);
    return {length == 0 ? Kind::kUnsatisfiable : Kind::kPart, size - length, length};
  }
  if (!first || (!after.empty() && (!last || *last < *first))) return whole;
  if (*first >= size) return {Kind::kUnsatisfiable, 0, 0};
  uint64_t end = std::min(last.value_or(kFar), size - 1);
  return {Kind::kPart, *first, end - *first + 1};
}

bool MatchesEtag(std::string_view if_none_match, std::string_view etag) {
  while (!if_none_match.empty()) {
    size_t comma = if_none_match.find(',');
    std::string_view one = Trim(if_none_match.substr(0, comma));
    if (one == "*") return true;
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == etag) return true;
    if (comma == std::string_view::npos) return false;
    if_none_match.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace agent_graph::api
