// The transcript of what one side says in a turn, as it grows.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace agent_graph::live {

class Utterance {
 public:
  // A piece, spoken by the sound behind `offset`. Returns what of it is new.
  std::string_view Add(std::string_view piece, std::chrono::milliseconds offset);
  // The end of a part. `whole` is all of that part, or empty where the provider does not tell.
  // Returns what was not among the pieces.
  std::string FinishPart(std::string_view whole, std::chrono::milliseconds offset);
  // Forgets what was spoken behind `heard`.
  void Cut(std::chrono::milliseconds heard);
  // The whole text, and a new beginning.
  std::string Take();

  const std::string& text() const { return text_; }
  bool open() const { return open_; }
  // Something will come, or has come: the utterance waits for its end.
  void Expect() { open_ = true; }

 private:
  struct Piece {
    size_t end;  // in text_
    std::chrono::milliseconds offset;
  };

  std::string text_;
  size_t part_begin_ = 0;
  std::vector<Piece> pieces_;
  bool open_ = false;
};

}  // namespace agent_graph::live
