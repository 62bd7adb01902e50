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

// The bounds of the second byte exclude overlong forms, surrogates and values above U+10FFFF.
bool Utf8Validator::FeedByte(uint8_t byte) {
  if (remaining_ > 0) {
    if (byte < lowest_ || byte > highest_) return false;
    --remaining_;
    lowest_ = 0x80;
    highest_ = 0xBF;
    return true;
  }
  if (byte < 0x80) return true;
  if (byte >= 0xC2 && byte <= 0xDF) {
    remaining_ = 1;
  } else if (byte >= 0xE0 && byte <= 0xEF) {
    remaining_ = 2;
    if (byte == 0xE0) lowest_ = 0xA0;
    if (byte == 0xED) highest_ = 0x9F;
  } else if (byte >= 0xF0 && byte <= 0xF4) {
    remaining_ = 3;
    if (byte == 0xF0) lowest_ = 0x90;
    if (byte == 0xF4) highest_ = 0x8F;
  } else {
    return false;
  }
  return true;
}

bool IsUtf8(std::string_view text) {
  Utf8Validator validator;
  return validator.Feed(text) && validator.complete();
}

}  // namespace agent_graph
