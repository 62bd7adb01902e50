// Arbitrary frames of clients of live sessions: as the first frame and as one of the later ones,
// text and binary. Reading must be safe, and a queue of frames must keep its bounds.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "live/init_frame.h"
#include "live/upstream.h"

namespace agent_graph::live {
namespace {

constexpr size_t kQueuedBytesMax = 64;
constexpr size_t kQueuedFramesMax = 4;

void Require(bool condition) {
  if (!condition) std::abort();
}

void ReadFirst(const bridge::SocketMessage& message) {
  const Result<InitFrame> frame = ReadInitFrame(message);
  if (!frame.ok()) {
    Require(frame.status().code() == StatusCode::kInvalidArgument);
    Require(IsUtf8(frame.status().message()));
    return;
  }
  Require(!message.binary && IsUtf8(frame->thread_id) && IsUtf8(frame->model));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool binary : {false, true})
    ReadFirst({.binary = binary, .payload = std::string(text)});
  UpstreamQueue queue(kQueuedFramesMax);
  for (bool binary = false; !text.empty(); binary = !binary) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
    auto frame = ReadUpstreamFrame({.binary = binary, .payload = std::string(line)});
    if (!frame) continue;
    Require(frame->kind != UpstreamFrame::Kind::kAudio || frame->payload.size() % 2 == 0);
    Require(frame->kind == UpstreamFrame::Kind::kAudio || IsUtf8(frame->payload));
    queue.Push(*std::move(frame), kQueuedBytesMax);
    Require(queue.size() <= kQueuedFramesMax);
    Require(queue.bytes() <= kQueuedBytesMax || queue.size() == 1);
  }
  while (queue.Pop()) continue;
  Require(queue.empty() && queue.bytes() == 0);
  return 0;
}

}  // namespace agent_graph::live
