#include "state/rows/key_ranges.h"

#include <algorithm>

namespace agent_graph::state {

void KeyRanges::Add(const Range& range) {
  const auto [place, is_new] = ranges_.try_emplace(range.first[0], range);
  if (is_new) return;
  Range& known = place->second;
  known.first = std::min(known.first, range.first);
  known.last = std::max(known.last, range.last);
}

void KeyRanges::Add(const KeyRanges& others) {
  for (const auto& [table, range] : others.ranges_) Add(range);
}

}  // namespace agent_graph::state
