#include "api/query.h"

#include <algorithm>
#include <charconv>

namespace agent_graph::api {
namespace {

constexpr size_t kParametersMax = 64;
constexpr uint64_t kOffsetMax = uint64_t{1} << 62;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// A broken escape stays as it is, the way browsers and servers treat it in a query.
std::string Decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    int high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low >= 0) {
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

// Digits with an optional plus sign; a number too large for the type is the largest.
std::optional<uint64_t> ParseCount(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return UINT64_MAX;
  if (error != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

Query::Query(std::string_view raw) {
  while (!raw.empty() && values_.size() < kParametersMax) {
    size_t ampersand = raw.find('&');
    std::string_view pair = raw.substr(0, ampersand);
    raw.remove_prefix(ampersand == std::string_view::npos ? raw.size() : ampersand + 1);
    if (pair.empty()) continue;
    size_t equals = pair.find('=');
    std::string_view value = equals == std::string_view::npos ? "" : pair.substr(equals + 1);
    values_.emplace_back(Decode(pair.substr(0, equals)), Decode(value));
  }
}

std::optional<std::string_view> Query::Find(std::string_view name) const {
  for (auto value = values_.rbegin(); value != values_.rend(); ++value) {
    if (value->first == name) return value->second;
  }
  return std::nullopt;
}

state::PageRequest ReadPage(const Query& query, Problems& problems) {
  state::PageRequest page;
  page.limit = kPageLimitDefault;
  if (auto search = query.Find("search")) {
    if (search->size() > kSearchBytesMax) {
      problems.Add({"query", "search"},
                   "must have at most " + std::to_string(kSearchBytesMax) + " bytes", "too_long");
    } else {
      page.search = *search;
    }
  }
  if (auto text = query.Find("offset")) {
    std::optional<uint64_t> offset = ParseCount(*text);
    if (!offset)
      problems.Add({"query", "offset"}, "must be an integer of at least 0", "int_parsing");
    page.offset = std::min(offset.value_or(0), kOffsetMax);
  }
  if (auto text = query.Find("limit")) {
    std::optional<uint64_t> limit = ParseCount(*text);
    if (!limit || *limit == 0) {
      problems.Add({"query", "limit"}, "must be an integer of at least 1", "int_parsing");
    }
    page.limit = std::min(limit.value_or(kPageLimitDefault), kPageLimitMax);
  }
  if (auto cursor = query.Find("cursor")) {
    if (cursor->size() > 2 * kIdBytesMax + kSearchBytesMax) {
      problems.Add({"query", "cursor"}, "is not a cursor of this list", "value_error");
    } else {
      page.cursor = *cursor;
    }
  }
  return page;
}

}  // namespace agent_graph::api
