// Accepted runs in tests of the state.
#pragma once

#include "mailbox.h"
#include "state/runs.h"

namespace agent_graph::state {

// Receives the runs that are granted to one client.
using Grants = Mailbox<GrantedRun>;

}  // namespace agent_graph::state
