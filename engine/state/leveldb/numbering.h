// Threads and memories get numbers from counters. A number that is given twice would make two of
// them one, so a counter must be above every number that a row bears.
#pragma once

#include <cstdint>
#include <string_view>

namespace agent_graph::state {

// Names of the Meta rows that hold the counters: the next number to be given.
inline constexpr char kNextThreadName[] = "next_thread_number";
inline constexpr char kNextMemoryName[] = "next_memory_number";

// The largest numbers among the rows that were shown; 0: none.
class NumbersInUse {
 public:
  void Add(std::string_view key, std::string_view value);
  uint64_t largest_thread() const { return largest_thread_; }
  uint64_t largest_memory() const { return largest_memory_; }

 private:
  uint64_t largest_thread_ = 0;
  uint64_t largest_memory_ = 0;
};

}  // namespace agent_graph::state
