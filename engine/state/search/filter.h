// Decides which memories match a filter: exactly, from their records, or approximately, from field
// hashes kept in memory.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "state/memories.h"

namespace agent_graph::state {

// Converts a JSON value to text, so that values can be compared as texts: 1 and 1.0 are equal, "1"
// is different. Returns an empty text, which equals nothing, for other types than string, boolean
// and number.
std::string ComparableText(const json& value);

// A filter prepared for many comparisons. Immutable and thread-safe.
class FilterMatcher {
 public:
  explicit FilterMatcher(const MemoryFilter& filter);

  bool Matches(const MemoryRecord& record) const;

  // A matching record has all of these hashes in its FieldHashes.
  const std::vector<uint64_t>& hashes() const { return hashes_; }

 private:
  std::vector<std::pair<std::string, std::string>> equals_;  // field and comparable text
  std::vector<uint64_t> hashes_;
};

// Returns one hash per field that a filter can name, over its name and value. The hashes are valid
// in this process only.
std::vector<uint64_t> FieldHashes(const MemoryRecord& record);

}  // namespace agent_graph::state
