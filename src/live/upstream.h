// Frames of the client, and the queue in which they wait for the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.h"
#include "bridge/exchange.h"

namespace agent_graph::live {

// A valid frame of the client.
struct UpstreamFrame {
  enum class Kind : uint8_t { kAudio, kText, kActivityStart, kActivityEnd, kClose };
  Kind kind = Kind::kAudio;
  std::string payload = {};  // PCM16 at 16 kHz, or the text
  Deadline arrived = {};
};

// Returns nullopt for a frame that is not valid here. The caller ignores it.
std::optional<UpstreamFrame> ReadUpstreamFrame(bridge::SocketMessage message);

inline constexpr size_t kUpstreamFramesMax = 1000;

// Bytes that one session may queue: an equal part of half of what the worker may buffer, so that
// the sessions together leave room for other requests. Never less than 4 MiB, 1000 frames of 130 ms
// of audio, as far as the worker's bound allows.
size_t UpstreamShare(uint64_t worker_bytes_max, uint64_t sessions);

// Frames that wait for the model. When it is full, the oldest audio frame is dropped, or the oldest
// frame of any kind if no audio is queued.
class UpstreamQueue {
 public:
  explicit UpstreamQueue(size_t frames_max = kUpstreamFramesMax) : frames_max_(frames_max) {}

  // Adds the frame and returns how many were dropped to keep the number of frames and their
  // payloads within the bounds. A queue of one frame may exceed `bytes_max`.
  size_t Push(UpstreamFrame frame, size_t bytes_max);
  std::optional<UpstreamFrame> Pop();
  bool empty() const { return frames_.empty(); }
  size_t size() const { return frames_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  void DropOne();

  const size_t frames_max_;
  std::deque<UpstreamFrame> frames_;
  size_t bytes_ = 0;
};

}  // namespace agent_graph::live
