// SpeechDetector: finds where speech begins and ends, by loudness above a noise floor that adapts
// to the room.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace agent_graph::realtime {

// Audio is divided into frames of 20 ms, which is the least duration.
struct SpeechDetectorOptions {
  std::chrono::milliseconds begins_after{60};  // continuous speech that begins a turn
  std::chrono::milliseconds ends_after{600};   // silence that ends it
};

// Not thread-safe.
class SpeechDetector {
 public:
  enum class Change : char { kNone, kBegan, kEnded };

  explicit SpeechDetector(SpeechDetectorOptions options);

  // Reads PCM16 at kInputRate from the front of `pcm`, up to the next change, and removes it from
  // `pcm`.
  Change Feed(std::string_view& pcm);
  // Ends the current utterance: no more audio will come.
  Change Finish();

  bool speaking() const { return speaking_; }
  // Duration of the current or last utterance, without the silence at its end.
  std::chrono::milliseconds duration() const { return duration_; }

 private:
  Change TakeFrame(std::string_view frame);

  const SpeechDetectorOptions options_;
  std::string partial_;  // incomplete frame
  double noise_ = 100;   // noise floor: the room's loudness
  bool speaking_ = false;
  std::chrono::milliseconds loud_{0};   // consecutive
  std::chrono::milliseconds quiet_{0};  // consecutive
  std::chrono::milliseconds duration_{0};
};

}  // namespace agent_graph::realtime
