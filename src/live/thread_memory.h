// What a thread remembers of sessions before.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/message.h"
#include "state/types.h"

namespace agent_graph::live {

// What was said; calls and their results are of no use to another model.
std::vector<Message> History(const state::ThreadState& thread);
// The provider's handle of the last session; empty: none.
std::string StoredHandle(const state::ThreadRecord& thread);

}  // namespace agent_graph::live
