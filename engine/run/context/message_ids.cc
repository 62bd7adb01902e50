#include "run/context/message_ids.h"

#include "base/clock.h"
#include "base/text.h"
#include "state/limits.h"

namespace agent_graph::run {

namespace {

// True if a URL path can contain the id: messages are read and deleted by their ids.
bool IsUsable(const std::string& id) {
  return !IsBlank(id) && id.size() <= state::kIdBytesMax && id.find('\0') == std::string::npos &&
         !HasDotComponent(id);
}

}  // namespace

bool MessageIds::IsInHistory(const std::string& id) const {
  if (!in_history_) return false;
  const Result<bool> found = in_history_(id);
  return !found.ok() || *found;
}

void MessageIds::Assign(Message& message) {
  const bool is_generated = announced_.erase(message.id) > 0;
  if (taken_.contains(message.id) ||
      (!is_generated && (!IsUsable(message.id) || IsInHistory(message.id)))) {
    message.id = generator_.Next();
  }
  taken_.insert(message.id);
  if (message.timestamp == 0) message.timestamp = UnixSeconds();
}

}  // namespace agent_graph::run
