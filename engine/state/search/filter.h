// Which memories a filter means: exactly, by their records, and roughly, by hashes kept in memory.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "state/memories.h"

namespace agent_graph::state {

// Values are compared as texts: 1 and 1.0 are the same, "1" is another. Empty for what is no
// string, boolean or number: nothing equals that.
std::string ComparableText(const json& value);

class FilterMatcher {
 public:
  explicit FilterMatcher(const MemoryFilter& filter);

  bool Matches(const MemoryRecord& record) const;

  // A record that matches has all of these among its FieldHashes.
  const std::vector<uint64_t>& hashes() const { return hashes_; }

 private:
  std::vector<std::pair<std::string, std::string>> equals_;  // field, comparable text
  std::vector<uint64_t> hashes_;
};

// A hash of each field that a filter can ask for and its value. Good in this process only.
std::vector<uint64_t> FieldHashes(const MemoryRecord& record);

}  // namespace agent_graph::state
