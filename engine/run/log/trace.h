// The trace of a run: a view of the entries that the run left in its thread's log.
#pragma once

#include <string>

#include "state/requests.h"
#include "state/types.h"

namespace agent_graph::run {

// Returns {"thread_id","run_count","run_ids","run":{…}|null}. A run has its spans in the order of
// their first appearance (one `root`, one per node, `llm` and `tool` spans below their node), and
// its events, newest first.
std::string TraceJson(const std::string& thread_id, const state::RunTraces& traces);

}  // namespace agent_graph::run
