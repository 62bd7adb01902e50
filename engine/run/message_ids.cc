#include "run/message_ids.h"

#include "base/clock.h"
#include "base/text.h"
#include "state/limits.h"

namespace agent_graph::run {

namespace {

// True if a path can name it: the message is read and deleted by its id.
bool IsUsable(const std::string& id) {
  return !IsBlank(id) && id.size() <= state::kIdBytesMax && id.find('\0') == std::string::npos &&
         !HasDotComponent(id);
}

}  // namespace

void MessageIds::Assign(Message& message) {
  if (!IsUsable(message.id) || taken_.contains(message.id) ||
      (in_history_ && in_history_(message.id))) {
    message.id = generator_.Next();
  }
  taken_.insert(message.id);
  if (message.timestamp == 0) message.timestamp = UnixSeconds();
}

}  // namespace agent_graph::run
