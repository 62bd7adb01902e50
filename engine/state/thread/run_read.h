// Reads of a thread's runs and their log entries.
#pragma once

#include "base/status.h"
#include "state/rows/database.h"
#include "state/run_watch.h"
#include "state/runs.h"

namespace agent_graph::state {

Result<RunRecord> ReadRun(const DatabaseSnapshot& snapshot, const GetRunRequest& get);
Result<RunPage> ReadRunPage(const DatabaseSnapshot& snapshot, const ListRunsRequest& list);
// Returns at once, also without entries.
Result<FollowRunReply> ReadRunEntries(const DatabaseSnapshot& snapshot,
                                      const FollowRunRequest& follow);
// How far the run is. Does not set the reply's `piece`.
Result<WatchRunReply> ReadRunProgress(const DatabaseSnapshot& snapshot,
                                      const WatchRunRequest& watch);

}  // namespace agent_graph::state
