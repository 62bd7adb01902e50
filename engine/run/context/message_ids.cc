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

bool MessageIds::IsLookedUp(const Message& message) const {
  return in_history_ && IsUsable(message.id) && !taken_.contains(message.id) &&
         !announced_.contains(message.id);
}

void MessageIds::Assign(Message& message) {
  bool is_in_history = false;
  if (IsLookedUp(message)) {
    const Result<bool> found = in_history_(message.id);
    is_in_history = !found.ok() || *found;
  }
  Assign(is_in_history, message);
}

Status MessageIds::AssignToRequested(Message& message) {
  bool is_in_history = false;
  if (IsLookedUp(message)) {
    AG_ASSIGN_OR_RETURN(is_in_history, in_history_(message.id));
  }
  Assign(is_in_history, message);
  return Status::Ok();
}

void MessageIds::Assign(bool is_in_history, Message& message) {
  const bool is_generated = announced_.erase(message.id) > 0;
  const bool is_unusable = !is_generated && (!IsUsable(message.id) || is_in_history);
  if (taken_.contains(message.id) || is_unusable) message.id = generator_.Next();
  taken_.insert(message.id);
  if (message.timestamp == 0) message.timestamp = UnixSeconds();
}

}  // namespace agent_graph::run
