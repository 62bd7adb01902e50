#include "base/nearest_word.h"

#include <algorithm>
#include <vector>

namespace agent_graph {
namespace {

// Returns the number of insertions, deletions and replacements that turn one word into the other.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

bool IsLastPart(std::string_view word, std::string_view name) {
  return name.size() > word.size() && name.ends_with(word) &&
         name[name.size() - word.size() - 1] == '_';
}

std::vector<std::string_view> SortedParts(std::string_view name) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = name.find('_');
    parts.push_back(name.substr(0, end));
    if (end == std::string_view::npos) break;
    name.remove_prefix(end + 1);
  }
  std::ranges::sort(parts);
  return parts;
}

}  // namespace

std::string_view NearestWord(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty()) return {};
  std::string_view nearest;
  size_t nearest_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    if (candidate.empty()) continue;
    const bool has_same_parts = candidate.starts_with(word) || IsLastPart(word, candidate) ||
                                SortedParts(word) == SortedParts(candidate);
    const size_t distance = has_same_parts ? 1 : EditDistance(word, candidate);
    // Short words, such as port and cors, are near each other by chance.
    const bool is_misspelt = distance < 2 || candidate.front() == word.front();
    if (is_misspelt && distance < nearest_distance) {
      nearest_distance = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace agent_graph
