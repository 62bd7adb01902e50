#include "live/downstream.h"

#include <algorithm>
#include <utility>

#include "realtime/link.h"

namespace agent_graph::live {

using std::chrono::milliseconds;

milliseconds AudioDuration(size_t bytes) {
  return milliseconds(bytes / 2 * 1000 / realtime::kOutputRate);
}

Downstream::Added Downstream::AddEvent(std::string event, bool worker_has_room) {
  if (event_bytes_ >= limits_.event_bytes_limit) return Added::kLimitReached;
  if (full() && !worker_has_room) return Added::kWorkerFull;
  AddLastEvent(std::move(event));
  return Added::kAdded;
}

void Downstream::AddLastEvent(std::string event) {
  event_bytes_ += event.size();
  items_.push_back({false, std::move(event), {}});
}

// `queued_bytes` changes while the client reads: it falls with each read, and rises when this queue
// gives more items to the connection.
bool Downstream::IsStalled(int64_t queued_bytes, Deadline now) {
  const bool moves = queued_bytes != std::exchange(queued_bytes_, queued_bytes);
  if (!full()) {
    stalled_at_ = kNoDeadline;
  } else if (moves || stalled_at_ == kNoDeadline) {
    stalled_at_ = now + kReadWaitMax;
  }
  return now >= stalled_at_;
}

size_t Downstream::AddAudio(std::string pcm, Deadline arrived) {
  size_t dropped = 0;
  while (audio_bytes_ > 0 && audio_bytes_ + pcm.size() > limits_.audio_bytes_max) {
    auto oldest =
        std::find_if(items_.begin(), items_.end(), [](const Item& item) { return item.audio; });
    audio_bytes_ -= oldest->payload.size();
    items_.erase(oldest);
    ++dropped;
  }
  audio_bytes_ += pcm.size();
  items_.push_back({true, std::move(pcm), arrived});
  return dropped;
}

void Downstream::FlushAudio() {
  std::erase_if(items_, [](const Item& item) { return item.audio; });
  audio_bytes_ = 0;
  playing_until_ = {};
}

std::optional<Downstream::Item> Downstream::Take(Deadline now) {
  if (items_.empty()) return std::nullopt;
  Item item = std::move(items_.front());
  items_.pop_front();
  if (item.audio) {
    audio_bytes_ -= item.payload.size();
    playing_until_ = std::max(playing_until_, now) + AudioDuration(item.payload.size());
  } else {
    event_bytes_ -= item.payload.size();
  }
  return item;
}

milliseconds Downstream::Unplayed(Deadline now) const {
  const auto with_client = std::max(playing_until_ - now, Duration::zero());
  return std::chrono::duration_cast<milliseconds>(with_client) + AudioDuration(audio_bytes_);
}

}  // namespace agent_graph::live
