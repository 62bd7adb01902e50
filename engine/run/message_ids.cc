#include "run/message_ids.h"

#include "base/clock.h"

namespace agent_graph::run {

void MessageIds::Assign(Message& message) {
  const bool chosen = !message.id.empty();
  if (!chosen || taken_.contains(message.id) || (in_history_ && in_history_(message.id))) {
    message.id = generator_.Next();
  }
  taken_.insert(message.id);
  if (message.timestamp == 0) message.timestamp = UnixSeconds();
}

}  // namespace agent_graph::run
