// History: the latest messages of a conversation, for links that do not know them.
#pragma once

#include <cstddef>
#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::live {

// Not thread-safe.
class History {
 public:
  // Limits of the messages that are kept, and of their texts.
  static constexpr size_t kMessagesMax = 200;
  static constexpr size_t kBytesMax = 1024 * 1024;

  // `messages`: those of the thread, oldest first. The provider's handle of the thread covers them.
  explicit History(std::vector<Message> messages);

  void Add(Message message);
  size_t size() const { return messages_.size(); }
  size_t bytes() const { return bytes_; }
  // Returns the latest messages; `count` <= size().
  std::vector<Message> Latest(size_t count) const;
  // Number of messages since the last answer.
  size_t Unanswered() const;

  // Number of the latest messages that the provider's resumption handle does not cover.
  size_t uncovered() const;
  // The provider has sent a handle that covers all but the latest `count` messages.
  void SetUncovered(size_t count) { uncovered_ = count; }

 private:
  void Trim();

  std::vector<Message> messages_;
  size_t bytes_ = 0;  // of their texts
  size_t uncovered_ = 0;
};

}  // namespace agent_graph::live
