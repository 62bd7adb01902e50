// Data of earlier sessions that a thread keeps.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "state/types.h"

namespace agent_graph::live {

// Returns the spoken and written messages. Calls and their results are omitted, because another
// model cannot use them.
std::vector<Message> History(const state::ThreadState& thread);
// Returns the provider's resumption handle of the last session; empty: none.
std::string StoredHandle(const state::ThreadRecord& thread);

}  // namespace agent_graph::live
