// Hears where speech begins and ends, by loudness over a floor that follows the noise of the room.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace agent_graph::realtime {

struct SpeechDetectorOptions {
  std::chrono::milliseconds begins_after{60};  // of sound without a pause
  std::chrono::milliseconds ends_after{600};   // of silence
};

class SpeechDetector {
 public:
  enum class Change : char { kNone, kBegan, kEnded };

  explicit SpeechDetector(SpeechDetectorOptions options) : options_(options) {}

  // PCM16 at kInputRate from the front of `pcm` up to the next change.
  Change Feed(std::string_view& pcm);
  // Ends an utterance that is going on: no more sound will come.
  Change Finish();

  bool speaking() const { return speaking_; }
  // Of the present utterance, or the last one, its final silence left out.
  std::chrono::milliseconds duration() const { return duration_; }

 private:
  Change TakeFrame(std::string_view frame);

  const SpeechDetectorOptions options_;
  std::string partial_;  // of a frame
  double noise_ = 100;   // loudness of the room
  bool speaking_ = false;
  std::chrono::milliseconds loud_{0};   // in a row
  std::chrono::milliseconds quiet_{0};  // in a row
  std::chrono::milliseconds duration_{0};
};

}  // namespace agent_graph::realtime
