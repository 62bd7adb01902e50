// Checks a database for faults.
#pragma once

#include <atomic>

#include "base/status.h"
#include "state/maintenance.h"
#include "state/rows/database.h"

namespace agent_graph::state {

// Reads every row of one snapshot. Keys and values must be readable and rows must be consistent
// with each other. Blocks. Returns kDataLoss if the database cannot be read any further,
// kUnavailable once `stopping` (may be null) is set.
Result<VerifyReport> Verify(const Database& database, const std::atomic<bool>* stopping = nullptr);

}  // namespace agent_graph::state
