#include "live/answer.h"

#include <algorithm>

#include "live/downstream.h"

namespace agent_graph::live {

using std::chrono::milliseconds;

std::string_view Answer::AddText(std::string_view piece) {
  return words_.Add(piece, audio_);
}

std::string Answer::FinishText(std::string_view whole) {
  return words_.FinishPart(whole, audio_);
}

void Answer::AddAudio(size_t bytes) {
  audio_ += AudioDuration(bytes);
}

milliseconds Answer::Heard(milliseconds unplayed) const {
  return std::max(audio_ - unplayed, milliseconds(0));
}

Answer Answer::TakePart() {
  Answer part = *this;
  words_ = {};
  part_begin_ = audio_;
  return part;
}

void Answer::Cut(milliseconds heard) {
  if (spoken()) words_.Cut(heard);
}

}  // namespace agent_graph::live
