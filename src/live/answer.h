// Answer: the words and the audio of one answer of the model. Tool calls divide its words into
// parts; durations of audio count from the beginning of the answer, as they do for the provider.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "live/utterance.h"

namespace agent_graph::live {

// Not thread-safe; never blocks.
class Answer {
 public:
  // Adds a piece of the transcript and returns its new text.
  std::string_view AddText(std::string_view piece);
  // Ends a part of the transcript: see Utterance::FinishPart. Returns the new text.
  std::string FinishText(std::string_view whole);
  // Adds PCM16 audio of the model.
  void AddAudio(size_t bytes);

  const std::string& text() const { return words_.text(); }
  std::chrono::milliseconds audio() const { return audio_; }
  // True if the current part has audio.
  bool spoken() const { return audio_ > part_begin_; }
  bool empty() const { return audio_ == std::chrono::milliseconds(0) && text().empty(); }
  // Duration of the audio that the user has heard if `unplayed` of it was not played yet.
  std::chrono::milliseconds Heard(std::chrono::milliseconds unplayed) const;

  // Removes the words that are spoken after `heard`. An answer without audio keeps its words.
  void Cut(std::chrono::milliseconds heard);
  std::string TakeText() { return words_.Take(); }
  // Returns the current part. The next words and audio belong to another one.
  Answer TakePart();

 private:
  Utterance words_;
  std::chrono::milliseconds audio_{0};       // of all parts
  std::chrono::milliseconds part_begin_{0};  // audio before the current part
};

}  // namespace agent_graph::live
