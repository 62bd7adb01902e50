// Ranges of keys of rows: for each table at most one, from the first key to the last.
#pragma once

#include <map>
#include <string>

namespace agent_graph::state {

class KeyRanges {
 public:
  struct Range {  // both inclusive
    std::string first;
    std::string last;
  };

  // Extends the range of the key's table.
  void Add(const std::string& key) { Add({key, key}); }
  void Add(const KeyRanges& others);
  void Clear() { ranges_.clear(); }

  bool empty() const { return ranges_.empty(); }
  // By the first byte of the keys, which names the table.
  const std::map<char, Range>& by_table() const { return ranges_; }

 private:
  void Add(const Range& range);

  std::map<char, Range> ranges_;
};

}  // namespace agent_graph::state
