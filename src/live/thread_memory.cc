#include "live/thread_memory.h"

#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "message/codec.h"

namespace agent_graph::live {
namespace {

// Messages of the thread that a model gets if the provider does not remember them.
constexpr size_t kStoredMessagesMax = 100;

}  // namespace

std::vector<Message> StoredMessages(const state::ThreadState& thread) {
  std::vector<Message> history;
  for (const state::StoredMessage& stored : thread.window) {
    Result<Message> message = message::FromJsonText(stored.json);
    if (!message.ok() || message->Text().empty()) continue;
    if (message->role == Role::kUser || message->role == Role::kAssistant) {
      history.push_back(*std::move(message));
    }
  }
  if (history.size() > kStoredMessagesMax) {
    history.erase(history.begin(), history.end() - static_cast<std::ptrdiff_t>(kStoredMessagesMax));
  }
  return history;
}

std::string StoredHandle(const state::ThreadRecord& thread) {
  Result<json> metadata = ParseJson(thread.metadata_json);
  if (!metadata.ok() || !metadata->is_object()) return "";
  auto handle = metadata->find(state::kResumptionHandle);
  return handle != metadata->end() && handle->is_string() ? handle->get<std::string>() : "";
}

}  // namespace agent_graph::live
