#include "models/repeated_chunk.h"

#include <algorithm>

#include "models/json_tree.h"

namespace agent_graph::models {
namespace {

// Larger chunks are rare, and a waiting reply should not hold much memory.
constexpr size_t kFrameBytesMax = 1024;

bool NeedsNoUnescaping(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20; });
}

}  // namespace

void RepeatedChunk::Remember(std::string_view chunk, std::string_view text) {
  frame_.clear();
  if (text.empty() || !IsWithin(text, chunk)) return;
  if (chunk.size() - text.size() > kFrameBytesMax) return;
  before_ = static_cast<size_t>(text.data() - chunk.data());
  frame_.append(chunk.substr(0, before_)).append(chunk.substr(before_ + text.size()));
}

std::optional<std::string_view> RepeatedChunk::Match(std::string_view chunk) const {
  if (frame_.empty() || chunk.size() < frame_.size()) return std::nullopt;
  const std::string_view frame = frame_;
  if (!chunk.starts_with(frame.substr(0, before_))) return std::nullopt;
  if (!chunk.ends_with(frame.substr(before_))) return std::nullopt;
  const std::string_view text = chunk.substr(before_, chunk.size() - frame.size());
  if (text.empty() || !NeedsNoUnescaping(text)) return std::nullopt;
  return text;
}

}  // namespace agent_graph::models
