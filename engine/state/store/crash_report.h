// Log lines about the runs whose worker died while it may have executed user code. nginx reports
// only that the process has ended.
#pragma once

#include <cstdint>
#include <string>

#include "state/store/lease.h"

namespace agent_graph::state {

// Limit of the lines about one process: a busy worker has many runs in user code.
inline constexpr size_t kCrashReportsMax = 10;

// True if the run may have executed user code. A run stores its place before a node that takes
// time; one that has stored nothing may have been in functions that never wait.
bool MayBeInUserCode(const Lease& lease);

// `reason`: why the run ends, empty if a worker continues it.
std::string CrashReport(const LeaseRow& row, bool accepted, const std::string& reason);

}  // namespace agent_graph::state
