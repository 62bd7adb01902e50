// Threads and memories are numbered by counters. Using a number twice would mix two of them up, so
// a counter must be above every number that appears in a row.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace agent_graph::state {

// Names of the Meta rows that hold the counters: the next number to assign.
inline constexpr char kNextThreadName[] = "next_thread_number";
inline constexpr char kNextMemoryName[] = "next_memory_number";

// Tracks the largest numbers among the added rows; 0: none.
class NumbersInUse {
 public:
  void Add(std::string_view key, std::string_view value);
  uint64_t largest_thread() const { return largest_thread_; }
  uint64_t largest_memory() const { return largest_memory_; }

 private:
  uint64_t largest_thread_ = 0;
  uint64_t largest_memory_ = 0;
};

// A set of numbers that needs about one bit per number, because numbers are consecutive.
class NumberSet {
 public:
  void Add(uint64_t number);
  bool Contains(uint64_t number) const;

 private:
  static constexpr uint64_t kChunk = 65'536;
  std::unordered_map<uint64_t, std::vector<bool>> chunks_;
};

}  // namespace agent_graph::state
