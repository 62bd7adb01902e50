#include "api/resources/stored_message.h"

#include <unordered_set>

#include "base/clock.h"
#include "message/codec.h"

namespace agent_graph::api {

std::vector<state::StoredMessage> ToStored(std::vector<Message> messages, const IdGenerator& ids) {
  std::vector<state::StoredMessage> stored;
  stored.reserve(messages.size());
  std::unordered_set<std::string> taken;
  for (Message& message : messages) {
    if (message.id.empty() || taken.contains(message.id)) message.id = ids.Next();
    if (message.timestamp == 0) message.timestamp = UnixSeconds();
    taken.insert(message.id);
    stored.push_back({message.id, 0, message::ToJsonText(message)});
  }
  return stored;
}

}  // namespace agent_graph::api
