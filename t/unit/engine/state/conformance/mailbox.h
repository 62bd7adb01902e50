// Collects the messages that the state sends to a client without a request.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "../requests.h"

namespace agent_graph::state {

// A receiver may be called while its client stops, and after the mailbox of a test is gone.
template <typename Message>
class Mailbox {
 public:
  std::function<void(Message)> Receiver() {
    return [box = box_](Message message) {
      const std::lock_guard lock(box->mutex);
      box->messages.push_back(std::move(message));
      box->arrived.notify_all();
    };
  }
  Message Next() {
    std::unique_lock lock(box_->mutex);
    if (!box_->arrived.wait_for(lock, kPatience, [this] { return !box_->messages.empty(); })) {
      ADD_FAILURE() << "no message came";
      return {};
    }
    Message message = std::move(box_->messages.front());
    box_->messages.pop_front();
    return message;
  }
  bool empty() {
    const std::lock_guard lock(box_->mutex);
    return box_->messages.empty();
  }

 private:
  struct Box {
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<Message> messages;
  };

  const std::shared_ptr<Box> box_ = std::make_shared<Box>();
};

}  // namespace agent_graph::state
