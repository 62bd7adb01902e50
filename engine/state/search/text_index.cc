#include "state/search/text_index.h"

#include <cmath>
#include <functional>

#include "base/words.h"

namespace agent_graph::state {
namespace {

// The usual constants of BM25.
constexpr float kSaturation = 1.2f;
constexpr float kLengthWeight = 0.75f;

constexpr size_t kQueryWordsMax = 64;
// Words indexed per text, about a megabyte; the rest cannot be found.
constexpr uint32_t kTextWordsMax = 200'000;
// Estimated bytes of a map node with its vector.
constexpr size_t kWordBytes = 64;

// Returns the hashes of the words and how often each occurs.
std::unordered_map<uint64_t, uint32_t> CountWords(std::string_view text, uint32_t words_max) {
  std::unordered_map<uint64_t, uint32_t> counts;
  uint32_t words = 0;
  ForEachWord(text, [&](std::string_view word) {
    if (words++ < words_max) ++counts[std::hash<std::string_view>()(WordForm(word))];
  });
  return counts;
}

}  // namespace

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
