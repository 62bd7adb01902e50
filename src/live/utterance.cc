#include "live/utterance.h"

#include <utility>

namespace agent_graph::live {
namespace {

constexpr size_t kTextBytesMax = 512 * 1024;  // per utterance; further text is dropped

}  // namespace

std::string_view Utterance::Add(std::string_view piece, std::chrono::milliseconds offset) {
  if (text_.size() + piece.size() > kTextBytesMax) return {};
  text_ += piece;
  pieces_.push_back({text_.size(), offset});
  return piece;
}

std::string Utterance::FinishPart(std::string_view whole, std::chrono::milliseconds offset) {
  std::string rest;
  const std::string_view part = std::string_view(text_).substr(part_begin_);
  // Some providers correct the transcript at the end, but pieces that were sent cannot be taken
  // back.
  if (whole.size() > part.size() && whole.starts_with(part)) {
    rest = whole.substr(part.size());
    Add(rest, offset);
  }
  part_begin_ = text_.size();
  return rest;
}

void Utterance::Cut(std::chrono::milliseconds heard) {
  size_t end = 0;
  for (const Piece& piece : pieces_) {
    if (piece.offset >= heard) break;
    end = piece.end;
  }
  text_.resize(end);
  part_begin_ = end;
}

std::string Utterance::Take() {
  pieces_.clear();
  part_begin_ = 0;
  return std::exchange(text_, {});
}

}  // namespace agent_graph::live
