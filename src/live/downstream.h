// The queue towards the client. It keeps the order of events, which are never dropped, and audio,
// which may be.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.h"

namespace agent_graph::live {

// Limits of the queue in bytes.
struct DownstreamLimits {
  // A model produces audio faster than it is played: this many bytes may wait (87 seconds).
  size_t audio_bytes_max = 4 * 1024 * 1024;
  // The client is to have read events above the first limit soon. The second one is never exceeded
  // by more than an event: results of tools come many at once, whatever the client reads.
  size_t event_bytes_max = 1024 * 1024;
  size_t event_bytes_limit = 16 * 1024 * 1024;
};

// A client that reads nothing for so long while the queue is full is stalled.
inline constexpr std::chrono::seconds kReadWaitMax{10};

// Not thread-safe; used on the session's fiber, never blocks. It also computes how much of the
// audio the client cannot have played yet: a client plays audio as soon as it arrives, at the
// audio's own rate.
class Downstream {
 public:
  struct Item {
    bool audio = false;
    std::string payload;  // PCM16 at 24 kHz, or an event
    Deadline arrived{};   // audio only: time of arrival from the model
  };

  // Result of adding an event.
  enum class Added : uint8_t {
    kAdded,
    kWorkerFull,    // the queue is full, and the worker has no room for more
    kLimitReached,  // the last limit is reached
  };

  explicit Downstream(DownstreamLimits limits) : limits_(limits) {}

  // True if more events wait than may for long. A single event may have any size.
  bool full() const { return event_bytes_ >= limits_.event_bytes_max; }
  // While the queue is full, it takes events only if the worker has room.
  [[nodiscard]] Added AddEvent(std::string event, bool worker_has_room);
  // Adds the event that ends the session, whatever waits before it.
  void AddLastEvent(std::string event);
  // True if the queue is full and the client has read nothing for kReadWaitMax. `queued_bytes`:
  // bytes of items that were taken and that the client has not read.
  bool IsStalled(int64_t queued_bytes, Deadline now);
  // The earliest time at which IsStalled may become true.
  Deadline stalled_at() const { return stalled_at_; }
  // Adds audio and drops the oldest chunks if there is no room. Returns how many were dropped.
  size_t AddAudio(std::string pcm, Deadline arrived);
  // Removes all audio that is still in the queue. Audio that was already taken is discarded by the
  // client.
  void FlushAudio();

  // Takes the oldest item. The client is assumed to play audio from `now` on.
  std::optional<Item> Take(Deadline now);
  bool empty() const { return items_.empty(); }
  size_t bytes() const { return audio_bytes_ + event_bytes_; }
  // Duration of the audio that the client cannot have played yet, including audio in the queue.
  std::chrono::milliseconds Unplayed(Deadline now) const;

 private:
  const DownstreamLimits limits_;
  std::deque<Item> items_;
  size_t audio_bytes_ = 0;
  size_t event_bytes_ = 0;
  Deadline playing_until_{};  // end of playback at the client
  Deadline stalled_at_ = kNoDeadline;
  int64_t queued_bytes_ = 0;  // as of the last IsStalled
};

// Duration of PCM16 audio at 24 kHz.
std::chrono::milliseconds AudioDuration(size_t bytes);

}  // namespace agent_graph::live
