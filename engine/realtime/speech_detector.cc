#include "realtime/speech_detector.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "realtime/link.h"

namespace agent_graph::realtime {
namespace {

constexpr std::chrono::milliseconds kFrame{20};
constexpr size_t kFrameBytes = kInputRate / 1000 * 20 * 2;
constexpr double kLoudestNoise = 1500;
constexpr double kQuietestSpeech = 350;
constexpr double kSpeechOverNoise = 3;

double Loudness(std::string_view frame) {
  double sum = 0;
  const size_t count = frame.size() / 2;
  for (size_t i = 0; i < count; ++i) {
    int16_t sample;
    std::memcpy(&sample, frame.data() + 2 * i, sizeof(sample));
    sum += static_cast<double>(sample) * sample;
  }
  return std::sqrt(sum / static_cast<double>(count));
}

}  // namespace

SpeechDetector::SpeechDetector(SpeechDetectorOptions options)
    : options_{std::max(options.begins_after, kFrame), std::max(options.ends_after, kFrame)} {}

SpeechDetector::Change SpeechDetector::Feed(std::string_view& pcm) {
  while (!pcm.empty()) {
    const size_t take = std::min(pcm.size(), kFrameBytes - partial_.size());
    partial_.append(pcm.substr(0, take));
    pcm.remove_prefix(take);
    if (partial_.size() < kFrameBytes) break;
    const Change change = TakeFrame(partial_);
    partial_.clear();
    if (change != Change::kNone) return change;
  }
  return Change::kNone;
}

SpeechDetector::Change SpeechDetector::TakeFrame(std::string_view frame) {
  const double loudness = Loudness(frame);
  const bool loud = loudness > std::max(kQuietestSpeech, kSpeechOverNoise * noise_);
  if (!loud) noise_ = std::min(0.95 * noise_ + 0.05 * loudness, kLoudestNoise);
  loud_ = loud ? loud_ + kFrame : std::chrono::milliseconds(0);
  quiet_ = loud ? std::chrono::milliseconds(0) : quiet_ + kFrame;
  if (!speaking_) {
    if (loud_ < options_.begins_after) return Change::kNone;
    speaking_ = true;
    duration_ = loud_;
    return Change::kBegan;
  }
  duration_ += kFrame;
  if (quiet_ < options_.ends_after) return Change::kNone;
  return Finish();
}

SpeechDetector::Change SpeechDetector::Finish() {
  if (!speaking_) return Change::kNone;
  speaking_ = false;
  duration_ -= std::min(duration_, quiet_);
  loud_ = quiet_ = std::chrono::milliseconds(0);
  return Change::kEnded;
}

}  // namespace agent_graph::realtime
