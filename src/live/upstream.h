// What a client sends during a session, and the queue in which it waits for the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.h"
#include "bridge/exchange.h"

namespace agent_graph::live {

struct UpstreamFrame {
  enum class Kind : uint8_t { kAudio, kText, kActivityStart, kActivityEnd, kClose };
  Kind kind = Kind::kAudio;
  std::string payload = {};  // PCM16 at 16 kHz, or the text
  Deadline arrived = {};
};

// Nothing for a frame that has no meaning here: it is ignored.
std::optional<UpstreamFrame> ReadUpstreamFrame(bridge::SocketMessage message);

struct UpstreamLimits {
  size_t frames_max = 1000;
  size_t bytes_max = 4 * 1024 * 1024;
};

// Bounded: when it is full the oldest sound goes, or the oldest frame when no sound is queued.
class UpstreamQueue {
 public:
  explicit UpstreamQueue(UpstreamLimits limits) : limits_(limits) {}

  // How many frames had to go for it.
  size_t Push(UpstreamFrame frame);
  std::optional<UpstreamFrame> Pop();
  bool empty() const { return frames_.empty(); }
  size_t size() const { return frames_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  void DropOne();

  const UpstreamLimits limits_;
  std::deque<UpstreamFrame> frames_;
  size_t bytes_ = 0;
};

}  // namespace agent_graph::live
