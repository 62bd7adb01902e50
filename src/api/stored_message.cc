#include "api/stored_message.h"

#include "base/clock.h"
#include "message/codec.h"
#include "run/message_ids.h"

namespace agent_graph::api {

std::vector<state::StoredMessage> ToStored(std::vector<Message> messages) {
  std::vector<state::StoredMessage> stored;
  stored.reserve(messages.size());
  run::MessageIds ids;
  for (Message& message : messages) {
    ids.AssignForeign(message);
    stored.push_back({message.id, 0, message::ToJsonText(message)});
  }
  return stored;
}

}  // namespace agent_graph::api
