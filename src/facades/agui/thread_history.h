// The messages of a thread, for clients that lack them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/http/context.h"
#include "base/status.h"
#include "facades/agui/agui_messages.h"

namespace agent_graph::agui {

// Limits of a snapshot of messages: the newest ones of a longer thread. Clients refuse an event
// above 10 MB.
inline constexpr uint64_t kSnapshotMessagesMax = 1000;
inline constexpr size_t kSnapshotBytesMax = 4 * 1024 * 1024;
// The same with older messages of the client.
inline constexpr size_t kSnapshotWithClientBytesMax = 8 * 1024 * 1024;

// Reads the messages of a thread up to the last one of its working window, also those that have
// left the window. Waits while too many requests of this worker read stored data.
// `has_result_parts`: see MessageList.
Result<MessageList> ReadHistory(api::HandlerContext& context, const std::string& thread_id,
                                uint64_t last_sequence, bool has_result_parts);

// Appends MESSAGES_SNAPSHOT. A client keeps the order of the messages that it has; if that would be
// wrong, it gets an empty list before. `client_ids` are those that it has.
void AppendMessagesSnapshot(std::string& out, const MessageList& messages,
                            const std::vector<std::string>& client_ids);

}  // namespace agent_graph::agui
