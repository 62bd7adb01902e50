#include "realtime/resampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

namespace agent_graph::realtime {
namespace {

double Sinc(double x) {
  if (std::abs(x) < 1e-9) return 1;
  return std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

// The Hann window; `at` is in -1 … 1.
double Hann(double at) {
  return 0.5 + 0.5 * std::cos(std::numbers::pi * at);
}

int16_t ToSample(float value) {
  return static_cast<int16_t>(std::clamp(std::lround(value), -32768L, 32767L));
}

}  // namespace

Resampler::Resampler(int from_rate, int to_rate)
    : up_(to_rate / std::gcd(from_rate, to_rate)), down_(from_rate / std::gcd(from_rate, to_rate)) {
  const int length = up_ * kTapsPerPhase;
  const double center = (length - 1) / 2.0;
  const double cutoff = 0.92 / std::max(up_, down_);
  filter_.resize(static_cast<size_t>(length));
  // Stored phase by phase, so that one output reads consecutive taps.
  for (int phase = 0; phase < up_; ++phase) {
    float* const taps = &filter_[static_cast<size_t>(phase) * kTapsPerPhase];
    double sum = 0;
    for (int tap = 0; tap < kTapsPerPhase; ++tap) {
      const double at = tap * up_ + phase - center;
      const double value = Sinc(at * cutoff) * Hann(at / (center + 1));
      taps[tap] = static_cast<float>(value);
      sum += value;
    }
    for (int tap = 0; tap < kTapsPerPhase; ++tap) taps[tap] /= static_cast<float>(sum);
  }
  history_.assign(kTapsPerPhase - 1, 0);
}

std::string Resampler::Convert(std::string_view pcm) {
  if (up_ == down_) return std::string(pcm);
  const size_t count = pcm.size() / 2;
  const size_t before = history_.size();
  history_.resize(before + count);
  for (size_t i = 0; i < count; ++i) {
    int16_t sample;
    std::memcpy(&sample, pcm.data() + 2 * i, sizeof(sample));
    history_[before + i] = sample;
  }

  std::string out;
  out.reserve(count * 2 * static_cast<size_t>(up_) / static_cast<size_t>(down_) + 4);
  // history_[k + kTapsPerPhase - 1] is input sample k of this call.
  for (; position_ < static_cast<int64_t>(count) * up_; position_ += down_) {
    const auto newest = static_cast<size_t>(position_ / up_) + kTapsPerPhase - 1;
    const float* taps = &filter_[static_cast<size_t>(position_ % up_) * kTapsPerPhase];
    float sum = 0;
    for (size_t tap = 0; tap < kTapsPerPhase; ++tap) sum += taps[tap] * history_[newest - tap];
    const int16_t sample = ToSample(sum);
    out.append(reinterpret_cast<const char*>(&sample), sizeof(sample));
  }
  position_ -= static_cast<int64_t>(count) * up_;
  history_.erase(history_.begin(), history_.begin() + static_cast<std::ptrdiff_t>(count));
  return out;
}

}  // namespace agent_graph::realtime
