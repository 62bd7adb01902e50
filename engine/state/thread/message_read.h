// Reads of the messages of one conversation thread, one by one and in pages.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "state/requests.h"
#include "state/rows/database.h"
#include "state/rows/keys.h"
#include "state/types.h"

namespace agent_graph::state {

// Returns the message of a row.
Result<StoredMessage> ToMessage(std::string_view value, uint64_t sequence);
// Takes the row of a message; returns false if it needs no further one.
using MessageRowUse = std::function<bool(uint64_t sequence, std::string_view value)>;
// Calls `row` for messages from `first` on, or back, until it returns false.
Status ScanMessages(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread, uint64_t first,
                    bool backwards, const MessageRowUse& row);

Result<StoredMessage> ReadMessage(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                                  const std::string& message_id);
Result<MessagePage> ReadMessages(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                                 const PageRequest& page);
// Returns the number of messages to skip before the page: its offset, or the rest in its cursor.
uint64_t MessagesToSkip(const PageRequest& page);

}  // namespace agent_graph::state
