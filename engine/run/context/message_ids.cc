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

Result<bool> MessageIds::IsInHistory(const Message& message) const {
  const bool is_known = taken_.contains(message.id) || announced_.contains(message.id);
  if (!in_history_ || is_known || !IsUsable(message.id)) return false;
  return in_history_(message.id);
}

void MessageIds::Assign(Message& message) {
  const Result<bool> found = IsInHistory(message);
  Assign(!found.ok() || *found, message);
}

Status MessageIds::AssignToRequested(Message& message) {
  AG_ASSIGN_OR_RETURN(const bool found, IsInHistory(message));
  Assign(found, message);
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
