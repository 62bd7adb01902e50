// Changing the sample rate of a stream of PCM16.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agent_graph::realtime {

// A polyphase low-pass filter; keeps its place between two calls, so that pieces of any size give
// what the whole would. The delay is half of its length, under 2 ms.
class Resampler {
 public:
  Resampler(int from_rate, int to_rate);

  // Little-endian PCM16 in and out. An odd byte at the end waits for the next call.
  std::string Convert(std::string_view pcm);

 private:
  static constexpr int kTapsPerPhase = 24;

  const int up_;
  const int down_;
  std::vector<float> filter_;   // up_ phases of kTapsPerPhase taps
  std::vector<float> history_;  // the newest input samples
  int64_t position_ = 0;        // of the next output, in upsampled input samples
  std::string odd_;
};

}  // namespace agent_graph::realtime
