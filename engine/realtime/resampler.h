// Resampler: changes the sample rate of a PCM16 stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agent_graph::realtime {

// A polyphase low-pass filter. It keeps its state between calls, so pieces of any size give the
// same result as the whole stream. The delay is half the filter length, less than 2 ms. Not
// thread-safe.
class Resampler {
 public:
  Resampler(int from_rate, int to_rate);

  // Input and output are little-endian PCM16, whole samples.
  std::string Convert(std::string_view pcm);

 private:
  static constexpr int kTapsPerPhase = 24;

  const int up_;
  const int down_;
  std::vector<float> filter_;   // up_ phases of kTapsPerPhase taps
  std::vector<float> history_;  // the most recent input samples
  int64_t position_ = 0;        // where the next output sample is, in upsampled input samples
};

}  // namespace agent_graph::realtime
