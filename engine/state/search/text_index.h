// Full-text index with BM25 scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace agent_graph::state {

// Texts are numbered from 0 in the order in which they are added. Concurrent reads are allowed, but
// not during a change.
class TextIndex {
 public:
  void Add(std::string_view text);
  // Removes a text from the results; its postings stay until the index is rebuilt.
  void Remove(uint32_t text);

  // Returns the score of each text; above 0 if it contains a word of the query.
  std::vector<float> Scores(std::string_view query) const;
  size_t bytes() const { return bytes_; }

 private:
  struct Posting {
    uint32_t text;
    uint32_t count;
  };
  struct Text {
    uint32_t words = 0;
    bool removed = false;
  };

  // Mixes the hash of a word with a random number of the process. Otherwise a client could choose
  // words that all fall into the same bucket, so that each insertion compares all of them.
  struct SeededHash {
    size_t operator()(uint64_t word) const;
  };

  std::unordered_map<uint64_t, std::vector<Posting>, SeededHash> postings_;  // by hash of the word
  std::vector<Text> texts_;
  size_t live_texts_ = 0;
  uint64_t live_words_ = 0;
  size_t bytes_ = 0;
};

}  // namespace agent_graph::state
