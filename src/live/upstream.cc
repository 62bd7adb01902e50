#include "live/upstream.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"

namespace agent_graph::live {
namespace {

constexpr JsonLimits kFrameJsonLimits = {32, 10'000};

}  // namespace

std::optional<UpstreamFrame> ReadUpstreamFrame(bridge::SocketMessage message) {
  using Kind = UpstreamFrame::Kind;
  if (message.binary) {
    message.payload.resize(message.payload.size() & ~size_t{1});  // whole samples only
    if (message.payload.empty()) return std::nullopt;
    return UpstreamFrame{Kind::kAudio, std::move(message.payload)};
  }
  Result<json> frame = ParseJson(message.payload, kFrameJsonLimits);
  if (!frame.ok() || !frame->is_object()) return std::nullopt;
  auto type = frame->find("type");
  if (type == frame->end() || !type->is_string()) return std::nullopt;
  if (*type == "close") return UpstreamFrame{Kind::kClose};
  if (*type == "activity_start") return UpstreamFrame{Kind::kActivityStart};
  if (*type == "activity_end") return UpstreamFrame{Kind::kActivityEnd};
  if (*type != "text") return std::nullopt;
  auto text = frame->find("text");
  if (text == frame->end() || !text->is_string()) return std::nullopt;
  if (text->get_ref<const std::string&>().empty()) return std::nullopt;
  return UpstreamFrame{Kind::kText, text->get<std::string>()};
}

size_t UpstreamShare(uint64_t worker_bytes_max, uint64_t sessions) {
  constexpr uint64_t kShareMin = 4 * 1024 * 1024;
  const uint64_t fair = worker_bytes_max / 2 / std::max<uint64_t>(sessions, 1);
  return std::max(fair, std::min(kShareMin, worker_bytes_max));
}

size_t UpstreamQueue::Push(UpstreamFrame frame, size_t bytes_max) {
  size_t dropped = 0;
  while (!frames_.empty() &&
         (frames_.size() >= frames_max_ || bytes_ + frame.payload.size() > bytes_max)) {
    DropOne();
    ++dropped;
  }
  bytes_ += frame.payload.size();
  frames_.push_back(std::move(frame));
  return dropped;
}

std::optional<UpstreamFrame> UpstreamQueue::Pop() {
  if (frames_.empty()) return std::nullopt;
  UpstreamFrame frame = std::move(frames_.front());
  frames_.pop_front();
  bytes_ -= frame.payload.size();
  return frame;
}

void UpstreamQueue::DropOne() {
  auto victim = std::find_if(frames_.begin(), frames_.end(), [](const UpstreamFrame& frame) {
    return frame.kind == UpstreamFrame::Kind::kAudio;
  });
  if (victim == frames_.end()) victim = frames_.begin();
  bytes_ -= victim->payload.size();
  frames_.erase(victim);
}

}  // namespace agent_graph::live
