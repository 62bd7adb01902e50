// The growing transcript of one side in a turn. Not thread-safe.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace agent_graph::live {

class Utterance {
 public:
  // Adds a piece that is spoken in the audio after `offset`. Returns the new text.
  std::string_view Add(std::string_view piece, std::chrono::milliseconds offset);
  // Ends a part. `whole` is the text of the whole part, or empty if the provider does not send it.
  // Returns the text that was not among the pieces.
  std::string FinishPart(std::string_view whole, std::chrono::milliseconds offset);
  // Removes the text that is spoken after `heard`.
  void Cut(std::chrono::milliseconds heard);
  // Returns the whole text and resets the utterance.
  std::string Take();

  const std::string& text() const { return text_; }

 private:
  struct Piece {
    size_t end;  // in text_
    std::chrono::milliseconds offset;
  };

  std::string text_;
  size_t part_begin_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace agent_graph::live
