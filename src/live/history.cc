#include "live/history.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace agent_graph::live {

History::History(std::vector<Message> messages) : messages_(std::move(messages)) {
  Trim();
}

void History::Add(Message message) {
  messages_.push_back(std::move(message));
  ++uncovered_;
  Trim();
}

std::vector<Message> History::Latest(size_t count) const {
  AG_CHECK(count <= messages_.size(), "the history has as many messages");
  return {messages_.end() - static_cast<std::ptrdiff_t>(count), messages_.end()};
}

size_t History::Unanswered() const {
  const auto answer =
      std::ranges::find_if(messages_.rbegin(), messages_.rend(),
                           [](const Message& message) { return message.role != Role::kUser; });
  return static_cast<size_t>(answer - messages_.rbegin());
}

size_t History::uncovered() const {
  return std::min(uncovered_, messages_.size());
}

void History::Trim() {
  bytes_ = 0;
  size_t kept = 0;
  for (auto message = messages_.rbegin(); message != messages_.rend() && kept < kMessagesMax;
       ++message, ++kept) {
    const size_t bytes = message->Text().size();
    if (bytes_ + bytes > kBytesMax) break;
    bytes_ += bytes;
  }
  messages_.erase(messages_.begin(), messages_.end() - static_cast<std::ptrdiff_t>(kept));
}

}  // namespace agent_graph::live
