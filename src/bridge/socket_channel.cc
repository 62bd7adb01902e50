#include "bridge/socket_channel.h"

#include <utility>

#include "base/check.h"

namespace agent_graph::bridge {

SocketChannel::~SocketChannel() {
  memory_.CountElsewhere(-taken_bytes_elsewhere_);
  memory_.CountBuffered(-mailbox_bytes_ - taken_bytes_);
}

bool SocketChannel::Deliver(SocketMessage message) {
  MutexLock lock(mutex_);
  if (closed_) return false;
  CountMailbox(static_cast<int64_t>(message.mailbox_bytes()));
  mailbox_.push_back(std::move(message));
  if (arrival_ != nullptr) arrival_->Notify();
  return !std::exchange(turn_running_, true);
}

bool SocketChannel::Close() {
  MutexLock lock(mutex_);
  if (arrival_ == nullptr) {
    EndMailbox();
    return false;
  }
  closed_ = true;
  arrival_->Notify();
  return true;
}

int64_t SocketChannel::EndMailbox() {
  closed_ = true;
  mailbox_.clear();
  const int64_t dropped = mailbox_bytes_;
  CountMailbox(-dropped);
  return dropped;
}

void SocketChannel::RequestLeave() {
  leaving_ = true;
  NotifyArrival();
}

void SocketChannel::NotifyArrival() {
  MutexLock lock(mutex_);
  if (arrival_ != nullptr) arrival_->Notify();
}

void SocketChannel::CancelMessage(uint64_t ordinal, runtime::CancelReason reason) {
  MutexLock lock(mutex_);
  if (messages_taken_ != ordinal || !message_cancellation_) return;
  runtime::Cancellation message = *message_cancellation_;
  lock.Unlock();
  message.Cancel(reason);
}

void SocketChannel::CancelTakenMessage(runtime::CancelReason reason) {
  MutexLock lock(mutex_);
  std::optional<runtime::Cancellation> message = TakenMessage();
  lock.Unlock();
  if (message) message->Cancel(reason);
}

void SocketChannel::SetState(std::unique_ptr<SocketState> state) {
  AG_CHECK(state_ == nullptr, "a handshake is accepted once");
  state_ = std::move(state);
}

std::optional<SocketMessage> SocketChannel::NextMessage() {
  std::optional<SocketMessage> message;
  int64_t dropped = 0;
  {
    MutexLock lock(mutex_);
    AG_CHECK(turn_running_, "only a running turn takes messages");
    ForgetTakenMessage();
    // A client that always has a message in the mailbox would keep the worker from exiting.
    if (leaving_ && turn_has_taken_) dropped = EndMailbox();
    if (mailbox_.empty() || cancellation_.cancelled()) {
      turn_running_ = turn_has_taken_ = false;
    } else {
      message = PopMessage();
      message_cancellation_.emplace();
      turn_has_taken_ = true;
    }
  }
  if (dropped > 0) push_(ReadBody{static_cast<uint64_t>(dropped)});
  if (message) {
    push_(ReadBody{message->mailbox_bytes()});
  } else {
    push_(TurnOver{});
  }
  return message;
}

void SocketChannel::NotifyArrivals(runtime::Signal* arrival) {
  MutexLock lock(mutex_);
  arrival_ = arrival;
}

std::optional<SocketMessage> SocketChannel::TakeMessage() {
  std::optional<SocketMessage> message;
  {
    MutexLock lock(mutex_);
    ForgetTakenMessage();
    if (mailbox_.empty()) return std::nullopt;
    message = PopMessage();
  }
  push_(ReadBody{message->mailbox_bytes()});
  return message;
}

bool SocketChannel::drained() const {
  MutexLock lock(mutex_);
  return closed_ && mailbox_.empty();
}

SocketMessage SocketChannel::PopMessage() {
  SocketMessage message = std::move(mailbox_.front());
  mailbox_.pop_front();
  taken_bytes_ = static_cast<int64_t>(message.mailbox_bytes());
  AG_CHECK(mailbox_bytes_ >= taken_bytes_, "every message of the mailbox is counted");
  mailbox_bytes_ -= taken_bytes_;
  ++messages_taken_;
  return message;
}

void SocketChannel::CountedAsHeld() {
  MutexLock lock(mutex_);
  memory_.CountElsewhere(taken_bytes_ - std::exchange(taken_bytes_elsewhere_, taken_bytes_));
}

void SocketChannel::ForgetTakenMessage() {
  memory_.CountElsewhere(-std::exchange(taken_bytes_elsewhere_, 0));
  memory_.CountBuffered(-std::exchange(taken_bytes_, 0));
}

void SocketChannel::CountMailbox(int64_t bytes) {
  mailbox_bytes_ += bytes;
  memory_.CountBuffered(bytes);
}

}  // namespace agent_graph::bridge
