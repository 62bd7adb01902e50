// Words that a client may choose to make a hash table slow.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_set>

namespace agent_graph::testing {

constexpr size_t kWordLetters = 12;
constexpr std::string_view kLetters = "abcd";
// Parts of four letters that these words have.
constexpr size_t kWordParts = 256;

inline void SetWord(std::string& word, uint64_t number) {
  for (char& letter : word) {
    letter = kLetters[number % kLetters.size()];
    number /= kLetters.size();
  }
}

// Returns `count` different words whose hashes all fall into the first bucket of a standard hash
// table that contains them and their parts.
inline std::string CollidingWords(size_t count,
                                  const std::function<uint64_t(std::string_view)>& hash) {
  std::unordered_set<uint64_t> table;
  for (uint64_t i = 0; i < count + kWordParts; ++i) table.insert(i);
  const size_t buckets = table.bucket_count();
  std::string text;
  std::string word(kWordLetters, ' ');
  for (uint64_t number = 0; count > 0; ++number) {
    SetWord(word, number);
    if (hash(word) % buckets != 0) continue;
    text += word + " ";
    --count;
  }
  return text;
}

// Returns `count` different words whose hashes are not related.
inline std::string PlainWords(size_t count) {
  constexpr uint64_t kDistance = 2357;
  std::string text;
  std::string word(kWordLetters, ' ');
  for (uint64_t i = 0; i < count; ++i) {
    SetWord(word, i * kDistance);
    text += word + " ";
  }
  return text;
}

// Returns the processor time of the fastest of several calls.
inline int64_t FastestNanoseconds(const std::function<void()>& call) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  int64_t fastest = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 5; ++i) {
    const int64_t start = now();
    call();
    fastest = std::min(fastest, now() - start);
  }
  return fastest;
}

}  // namespace agent_graph::testing
