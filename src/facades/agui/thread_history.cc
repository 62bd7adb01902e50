#include "facades/agui/thread_history.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "api/http/page_reads.h"
#include "api/http/request_memory.h"
#include "base/clock.h"
#include "facades/agui/events.h"
#include "message/codec.h"
#include "state/service.h"

namespace agent_graph::agui {
namespace {

// A page may be cut at a number of bytes.
constexpr size_t kPagesMax = 64;

// True if the client's messages come first in the list, in this order, except for those that the
// list lacks, which the client removes.
bool KeepsOrder(const std::vector<std::string>& listed, const std::vector<std::string>& client) {
  std::unordered_map<std::string, size_t> places;
  for (size_t i = 0; i < listed.size(); ++i) places.emplace(listed[i], i);
  size_t next = 0;
  for (const std::string& id : client) {
    const auto place = places.find(id);
    if (place == places.end()) continue;
    if (place->second != next) return false;
    ++next;
  }
  return true;
}

}  // namespace

Result<MessageList> ReadHistory(api::HandlerContext& context, const std::string& thread_id,
                                uint64_t last_sequence, bool has_result_parts) {
  MessageList list(has_result_parts);
  AG_ASSIGN_OR_RETURN(const api::PageReads::Place place,
                      context.api().page_reads->Enter(context.exchange().cancellation(),
                                                      DeadlineAfter(api::kMemoryWaitMax)));
  if (last_sequence >= kSnapshotMessagesMax) list.MarkCut();
  state::PageRequest page;
  page.limit = kSnapshotMessagesMax;
  page.cursor =
      state::CursorOfMessage(last_sequence - std::min(last_sequence, kSnapshotMessagesMax - 1));
  for (size_t pages = 0; pages < kPagesMax && !page.cursor.empty(); ++pages) {
    AG_ASSIGN_OR_RETURN(state::MessagePage read,
                        context.state().ListMessages(context.caller().scope, thread_id, page));
    for (const state::StoredMessage& stored : read.messages) {
      Result<Message> message = message::FromJsonText(stored.json);
      if (message.ok()) list.Append(*message);
    }
    list.KeepLast(kSnapshotBytesMax);
    page.cursor = std::move(read.next_cursor);
  }
  return list;
}

void AppendMessagesSnapshot(std::string& out, const MessageList& messages,
                            const std::vector<std::string>& client_ids) {
  if (!KeepsOrder(messages.ids(), client_ids)) {
    Event(out, "MESSAGES_SNAPSHOT").Json("messages", "[]");
  }
  Event(out, "MESSAGES_SNAPSHOT").Json("messages", messages.Json());
}

}  // namespace agent_graph::agui
