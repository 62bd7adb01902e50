// Includes the whole SDK. A graph needs no other header.
#pragma once

#include "agent_graph/agent.h"          // IWYU pragma: export
#include "agent_graph/auth.h"           // IWYU pragma: export
#include "agent_graph/builtin_tools.h"  // IWYU pragma: export
#include "agent_graph/error.h"          // IWYU pragma: export
#include "agent_graph/execution.h"      // IWYU pragma: export
#include "agent_graph/export.h"         // IWYU pragma: export
#include "agent_graph/graph.h"          // IWYU pragma: export
#include "agent_graph/live_agent.h"     // IWYU pragma: export
#include "agent_graph/memory.h"         // IWYU pragma: export
#include "agent_graph/message.h"        // IWYU pragma: export
#include "agent_graph/node.h"           // IWYU pragma: export
#include "agent_graph/plugin.h"         // IWYU pragma: export
#include "agent_graph/run_context.h"    // IWYU pragma: export
#include "agent_graph/state.h"          // IWYU pragma: export
#include "agent_graph/thread_name.h"    // IWYU pragma: export
#include "agent_graph/tool.h"           // IWYU pragma: export
#include "agent_graph/tool_sources.h"   // IWYU pragma: export
#include "agent_graph/version.h"        // IWYU pragma: export
