// Reads in advance the rows that the checks of many rows will look up, because a database on
// another machine returns many rows in one reply as fast as one row.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "state/rows/keys.h"
#include "state/verify/faults.h"

namespace agent_graph::state {

// A row of the database that is not examined yet.
struct UnseenRow {
  keys::Table table;
  std::string key;
  std::string value;
};

// Rows that are examined together.
class UnseenRows {
 public:
  void Add(keys::Table table, std::string_view key, std::string_view value) {
    rows_.push_back({table, std::string(key), std::string(value)});
    bytes_ += key.size() + value.size();
  }
  bool is_full() const { return rows_.size() >= kRowsMax || bytes_ >= kBytesMax; }
  // Returns the rows in their order and removes them from this object. Also reads the rows to which
  // they refer: Find and Exists of the examination have these until the next call.
  std::vector<UnseenRow> Take(Examination& examination);

 private:
  static constexpr size_t kRowsMax = 500;
  static constexpr size_t kBytesMax = size_t{4} * 1024 * 1024;

  std::vector<UnseenRow> rows_;
  size_t bytes_ = 0;
};

}  // namespace agent_graph::state
