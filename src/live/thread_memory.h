// Data of earlier sessions that a thread keeps.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "state/types.h"

namespace agent_graph::live {

// Maximum length of a provider's resumption handle. A longer handle is ignored.
inline constexpr size_t kHandleBytesMax = 64 * 1024;

// Returns the spoken and written messages. Calls and their results are omitted, because another
// model cannot use them.
std::vector<Message> StoredMessages(const state::ThreadState& thread);
// Returns the provider's resumption handle of the last session; empty: none.
std::string StoredHandle(const state::ThreadRecord& thread);

}  // namespace agent_graph::live
