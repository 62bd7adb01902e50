#include "state/gateway/wire/send_queue.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/free_memory.h"

namespace agent_graph::state::wire {
namespace {

// Copying a smaller frame is cheaper than a call of the system.
constexpr size_t kLargeBytes = 64 * 1024;

}  // namespace

void SendQueue::Add(std::string frames) {
  if (frames.size() < kLargeBytes) return Append(frames);
  Add(std::make_shared<const std::string>(std::move(frames)));
}

void SendQueue::Add(const std::shared_ptr<const std::string>& frame) {
  if (frame->size() < kLargeBytes) return Append(*frame);
  if (!joined_.empty()) {
    large_.push_back(std::make_shared<const std::string>(std::move(joined_)));
    joined_.clear();
  }
  large_.push_back(frame);
  bytes_ += frame->size();
}

// A joined string that has become large is sent like a large frame, so that it is freed when it has
// been sent, also if the queue never becomes empty.
void SendQueue::Append(std::string_view frame) {
  joined_ += frame;
  bytes_ += frame.size();
  if (joined_.size() < kLargeBytes) return;
  large_.push_back(std::make_shared<const std::string>(std::move(joined_)));
  joined_.clear();
}

std::string_view SendQueue::Front() const {
  const std::string_view front = large_.empty() ? std::string_view(joined_) : *large_.front();
  return front.substr(start_);
}

void SendQueue::Sent(size_t bytes) {
  bytes_ -= bytes;
  start_ += bytes;
  if (!Front().empty()) return;
  start_ = 0;
  if (large_.empty()) {
    joined_.clear();
  } else {
    large_.pop_front();
  }
}

void SendQueue::Send(int socket) {
  while (!empty()) {
    const std::string_view front = Front();
    const ssize_t sent = send(socket, front.data(), front.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    Sent(static_cast<size_t>(sent));
  }
}

void SendQueue::Clear() {
  large_.clear();
  FreeMemory(joined_);
  start_ = 0;
  bytes_ = 0;
}

}  // namespace agent_graph::state::wire
