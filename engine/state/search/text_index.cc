#include "state/search/text_index.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/ids.h"
#include "base/words.h"

namespace agent_graph::state {
namespace {

// The usual constants of BM25.
constexpr float kSaturation = 1.2f;
constexpr float kLengthWeight = 0.75f;

constexpr size_t kQueryWordsMax = 64;
// Words indexed per text, about a megabyte; the rest cannot be found.
constexpr size_t kTextWordsMax = 200'000;
// Estimated bytes of a map node with its vector.
constexpr size_t kWordBytes = 64;

struct WordCount {
  uint64_t word;  // hash of the word
  uint32_t count;
};

// Returns how often each word occurs. Sorts the hashes, because the time of a hash table would
// depend on the words that a client chooses.
std::vector<WordCount> CountWords(std::string_view text, size_t words_max) {
  std::vector<uint64_t> words;
  ForEachWord(text, [&](std::string_view word) {
    if (words.size() == words_max) return;
    words.push_back(std::hash<std::string_view>()(WordForm(word)));
  });
  std::ranges::sort(words);
  std::vector<WordCount> counts;
  for (const uint64_t word : words) {
    if (counts.empty() || counts.back().word != word) counts.push_back({word, 0});
    ++counts.back().count;
  }
  return counts;
}

}  // namespace

size_t TextIndex::SeededHash::operator()(uint64_t word) const {
  static const uint64_t seed = RandomUint64();
  // The finalizer of SplitMix64.
  uint64_t mixed = word ^ seed;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

void TextIndex::Add(std::string_view text) {
  const auto number = static_cast<uint32_t>(texts_.size());
  Text added;
  for (const auto& [word, count] : CountWords(text, kTextWordsMax)) {
    std::vector<Posting>& postings = postings_[word];
    if (postings.empty()) bytes_ += kWordBytes;
    postings.push_back({number, count});
    bytes_ += sizeof(Posting);
    added.words += count;
  }
  texts_.push_back(added);
  bytes_ += sizeof(Text);
  ++live_texts_;
  live_words_ += added.words;
}

void TextIndex::Remove(uint32_t text) {
  if (texts_[text].removed) return;
  texts_[text].removed = true;
  --live_texts_;
  live_words_ -= texts_[text].words;
}

std::vector<float> TextIndex::Scores(std::string_view query) const {
  std::vector<float> scores(texts_.size());
  if (live_texts_ == 0) return scores;
  const auto texts = static_cast<float>(live_texts_);
  const float usual_words = std::max(1.0f, static_cast<float>(live_words_) / texts);
  for (const auto& [word, occurrences] : CountWords(query, kQueryWordsMax)) {
    auto found = postings_.find(word);
    if (found == postings_.end()) continue;
    const auto holders = static_cast<float>(std::min(found->second.size(), live_texts_));
    const float rarity = std::log(1 + (texts - holders + 0.5f) / (holders + 0.5f));
    for (const Posting& posting : found->second) {
      const Text& text = texts_[posting.text];
      if (text.removed) continue;
      const auto count = static_cast<float>(posting.count);
      const float length =
          1 - kLengthWeight + kLengthWeight * static_cast<float>(text.words) / usual_words;
      scores[posting.text] += rarity * count * (kSaturation + 1) / (count + kSaturation * length);
    }
  }
  return scores;
}

}  // namespace agent_graph::state
