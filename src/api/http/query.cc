#include "api/http/query.h"

#include <algorithm>
#include <charconv>

#include "base/percent_encoding.h"

namespace agent_graph::api {
namespace {

constexpr size_t kParametersMax = 64;
constexpr uint64_t kOffsetMax = uint64_t{1} << 62;

std::string DecodeParameter(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return PercentDecodeLeniently(spaced);
}

// Parses digits with an optional plus sign; a number that is too large becomes the maximum.
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
    values_.emplace_back(DecodeParameter(pair.substr(0, equals)), DecodeParameter(value));
  }
}

std::optional<std::string_view> Query::Find(std::string_view name) const {
  for (auto value = values_.rbegin(); value != values_.rend(); ++value) {
    if (value->first == name) return value->second;
  }
  return std::nullopt;
}

int64_t ReadInteger(const Query& query, const Field& field, Problems& problems) {
  const std::optional<std::string_view> text = query.Find(field.name);
  if (!text) return field.fallback;
  const std::optional<uint64_t> count = ParseCount(*text);
  if (!count || *count < static_cast<uint64_t>(field.minimum) ||
      *count > static_cast<uint64_t>(field.maximum)) {
    problems.Add({"query", std::string(field.name)},
                 "must be an integer from " + std::to_string(field.minimum) + " to " +
                     std::to_string(field.maximum),
                 count ? ProblemType::kOutOfRange : ProblemType::kIntegerSyntax);
    return field.fallback;
  }
  return static_cast<int64_t>(*count);
}

size_t ReadChoice(const Query& query, const Field& field, Problems& problems) {
  const std::optional<std::string_view> text = query.Find(field.name);
  if (!text) return static_cast<size_t>(field.fallback);
  const auto found = std::ranges::find(field.choices, *text);
  if (found != field.choices.end()) return static_cast<size_t>(found - field.choices.begin());
  std::string names;
  for (const std::string_view choice : field.choices) {
    if (!names.empty()) names += ", ";
    names += choice;
  }
  problems.Add({"query", std::string(field.name)}, "must be one of " + names, ProblemType::kChoice);
  return static_cast<size_t>(field.fallback);
}

state::PageRequest ReadPage(const Query& query, Problems& problems) {
  state::PageRequest page;
  page.limit = kPageLimitDefault;
  if (auto search = query.Find("search")) {
    if (search->size() > kSearchBytesMax) {
      problems.Add({"query", "search"},
                   "must have at most " + std::to_string(kSearchBytesMax) + " bytes",
                   ProblemType::kTooLong);
    } else {
      page.search = *search;
    }
  }
  if (auto text = query.Find("offset")) {
    std::optional<uint64_t> offset = ParseCount(*text);
    if (!offset)
      problems.Add({"query", "offset"}, "must be an integer of at least 0",
                   ProblemType::kIntegerSyntax);
    page.offset = std::min(offset.value_or(0), kOffsetMax);
  }
  if (auto text = query.Find("limit")) {
    std::optional<uint64_t> limit = ParseCount(*text);
    if (!limit || *limit == 0) {
      problems.Add({"query", "limit"}, "must be an integer of at least 1",
                   ProblemType::kIntegerSyntax);
    }
    page.limit = std::min(limit.value_or(kPageLimitDefault), kPageLimitMax);
  }
  if (auto cursor = query.Find("cursor")) {
    if (cursor->size() > 2 * kIdBytesMax + kSearchBytesMax) {
      problems.Add({"query", "cursor"}, "is not a cursor of this list", ProblemType::kValue);
    } else {
      page.cursor = *cursor;
    }
  }
  return page;
}

}  // namespace agent_graph::api
