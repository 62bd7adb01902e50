#include "live/links.h"

#include <algorithm>
#include <utility>

namespace agent_graph::live {

void Links::Open(const realtime::LinkConfig& config) {
  current_.reset();  // some providers allow only one connection per session
  current_ = provider_->Open(config, wake_);
}

void Links::PrepareNext(const realtime::LinkConfig& config) {
  next_.reset();
  next_ = provider_->Prepare(config, wake_);
}

void Links::BeginNext(const realtime::LinkConfig& config) {
  gone_ = std::exchange(current_, std::move(next_));
  current_->Begin(config);
}

std::optional<realtime::Event> Links::TakeEvent() {
  gone_.reset();
  return current_ != nullptr ? current_->Next() : std::nullopt;
}

std::optional<realtime::Event> Links::TakeEventOfNext() {
  gone_.reset();
  return next_ != nullptr ? next_->Next() : std::nullopt;
}

Deadline Links::wake_at() const {
  Deadline wake = kNoDeadline;
  for (const auto* link : {&current_, &next_}) {
    if (*link != nullptr) wake = std::min(wake, (*link)->wake_at());
  }
  return wake;
}

size_t Links::held_bytes() const {
  size_t bytes = 0;
  for (const auto* link : {&current_, &next_}) {
    if (*link != nullptr) bytes += (*link)->held_bytes();
  }
  return bytes;
}

}  // namespace agent_graph::live
