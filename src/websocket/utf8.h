// UTF-8 validation of a text that arrives in pieces.
#pragma once

#include <cstdint>
#include <string_view>

namespace agent_graph::websocket {

class Utf8Validator {
 public:
  // False at the first byte that no valid text can have there. Not to be called again after that.
  bool Feed(std::string_view bytes);
  // The text may end here: no character is left open.
  bool complete() const { return remaining_ == 0; }
  void Reset() { *this = Utf8Validator(); }

 private:
  bool FeedByte(uint8_t byte);

  int remaining_ = 0;      // bytes until the character is whole
  uint8_t lowest_ = 0x80;  // what its next byte may be
  uint8_t highest_ = 0xBF;
};

bool IsUtf8(std::string_view text);

}  // namespace agent_graph::websocket
