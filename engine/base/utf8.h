// Validates UTF-8 text, also when it arrives in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace agent_graph {

// Keeps the state between pieces. Not thread-safe.
class Utf8Validator {
 public:
  // Returns false at the first byte that cannot be part of a valid text. Do not call it again after
  // that.
  bool Feed(std::string_view bytes);
  // True if the text may end here: no character is incomplete.
  bool complete() const { return remaining_ == 0; }
  void Reset() { *this = Utf8Validator(); }

 private:
  bool FeedByte(uint8_t byte);

  int remaining_ = 0;      // missing bytes of the current character
  uint8_t lowest_ = 0x80;  // bounds of its next byte
  uint8_t highest_ = 0xBF;
};

// Checks a complete text.
bool IsUtf8(std::string_view text);

// Number of bytes of the first character of `text`, which must not be empty; 0 if they are not
// valid UTF-8.
size_t Utf8CharacterSize(std::string_view text);

}  // namespace agent_graph
