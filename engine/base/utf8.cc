#include "base/utf8.h"

#include <cstring>

namespace agent_graph {
namespace {

constexpr uint64_t kNotAscii = 0x8080808080808080;

size_t AsciiWords(const char* bytes, size_t size) {
  size_t length = 0;
  for (uint64_t word; length + sizeof(word) <= size; length += sizeof(word)) {
    std::memcpy(&word, bytes + length, sizeof(word));
    if ((word & kNotAscii) != 0) break;
  }
  return length;
}

constexpr uint8_t kLowestContinuation = 0x80;
constexpr uint8_t kHighestContinuation = 0xBF;

// The meaning of the first byte of a character: the size of the character, 0 if no character begins
// with this byte, and the bounds of its second byte, which exclude overlong forms, surrogates and
// values above U+10FFFF.
struct Lead {
  int size;
  uint8_t lowest = kLowestContinuation;
  uint8_t highest = kHighestContinuation;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {.size = 1};
  if (byte >= 0xC2 && byte <= 0xDF) return {.size = 2};
  if (byte == 0xE0) return {.size = 3, .lowest = 0xA0};
  if (byte == 0xED) return {.size = 3, .highest = 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {.size = 3};
  if (byte == 0xF0) return {.size = 4, .lowest = 0x90};
  if (byte == 0xF4) return {.size = 4, .highest = 0x8F};
  if (byte >= 0xF1 && byte <= 0xF3) return {.size = 4};
  return {.size = 0};
}

}  // namespace

bool Utf8Validator::Feed(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    if (complete()) {
      size_t ascii = AsciiWords(bytes.data() + i, bytes.size() - i);
      i += ascii;
      if (i == bytes.size()) break;
    }
    if (!FeedByte(static_cast<uint8_t>(bytes[i]))) return false;
    ++i;
  }
  return true;
}

bool Utf8Validator::FeedByte(uint8_t byte) {
  if (remaining_ > 0) {
    if (byte < lowest_ || byte > highest_) return false;
    --remaining_;
    lowest_ = kLowestContinuation;
    highest_ = kHighestContinuation;
    return true;
  }
  const Lead lead = LeadOf(byte);
  if (lead.size == 0) return false;
  remaining_ = lead.size - 1;
  lowest_ = lead.lowest;
  highest_ = lead.highest;
  return true;
}

bool IsUtf8(std::string_view text) {
  Utf8Validator validator;
  return validator.Feed(text) && validator.complete();
}

size_t Utf8CharacterSize(std::string_view text) {
  const Lead lead = LeadOf(static_cast<uint8_t>(text.front()));
  const auto size = static_cast<size_t>(lead.size);
  if (size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < (i == 1 ? lead.lowest : kLowestContinuation)) return 0;
    if (byte > (i == 1 ? lead.highest : kHighestContinuation)) return 0;
  }
  return size;
}

}  // namespace agent_graph
