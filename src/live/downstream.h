// What goes to the client, in order: events, which are never dropped, and sound, which may be.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.h"

namespace agent_graph::live {

struct DownstreamLimits {
  // A model speaks faster than it is listened to: this much sound may wait (87 seconds).
  size_t audio_bytes_max = 4 * 1024 * 1024;
  size_t event_bytes_max = 1024 * 1024;
};

// Knows, too, how much of the sound the client cannot have played yet: it plays what it gets at
// once, at the rate of the sound.
class Downstream {
 public:
  struct Item {
    bool audio = false;
    std::string payload;  // PCM16 at 24 kHz, or an event
    Deadline arrived{};   // of sound, from the model
  };

  explicit Downstream(DownstreamLimits limits) : limits_(limits) {}

  // Of events; one may be as large as it is.
  bool full() const { return event_bytes_ >= limits_.event_bytes_max; }
  // False: it is full, the client does not read.
  [[nodiscard]] bool AddEvent(std::string event);
  // How many pieces of sound, the oldest ones, had to go for it.
  size_t AddAudio(std::string pcm, Deadline arrived);
  // Takes all sound back that has not been taken; what was taken before is in the client's hands,
  // which forgets it.
  void FlushAudio();

  std::optional<Item> Take(Deadline now);
  bool empty() const { return items_.empty(); }
  size_t bytes() const { return audio_bytes_ + event_bytes_; }
  std::chrono::milliseconds Unplayed(Deadline now) const;

 private:
  const DownstreamLimits limits_;
  std::deque<Item> items_;
  size_t audio_bytes_ = 0;
  size_t event_bytes_ = 0;
  Deadline playing_until_{};  // by the client
};

// Of PCM16 at 24 kHz.
std::chrono::milliseconds AudioDuration(size_t bytes);

}  // namespace agent_graph::live
