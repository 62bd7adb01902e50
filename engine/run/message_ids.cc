#include "run/message_ids.h"

#include "base/clock.h"
#include "state/limits.h"

namespace agent_graph::run {

void MessageIds::Assign(Message& message) {
  const bool usable = !message.id.empty() && message.id.size() <= state::kIdBytesMax;
  if (!usable || taken_.contains(message.id) || (in_history_ && in_history_(message.id))) {
    message.id = generator_.Next();
  }
  taken_.insert(message.id);
  if (message.timestamp == 0) message.timestamp = UnixSeconds();
}

}  // namespace agent_graph::run
