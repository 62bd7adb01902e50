// Converts between the times of rows (Database::Now) and those of this machine's clocks. Times are
// in microseconds; 0 means none and stays 0.
#pragma once

#include <cstdint>

#include "state/requests.h"
#include "state/rows/database.h"
#include "state/runs.h"

namespace agent_graph::state {

// The time for the rows of a request that its client sent at `client_micros` of its wall clock.
int64_t RequestTime(const Database& database, int64_t client_micros);

// `unix_micros` is a time of this machine's wall clock.
int64_t ToRowTime(const Database& database, int64_t unix_micros);
int64_t ToUnixTime(const Database& database, int64_t row_micros);
// Converts to the monotonic clock, as MonotonicMicros does.
int64_t ToMonotonicTime(const Database& database, int64_t row_micros);

// The request with the times that its rows are to have.
AcceptRunRequest WithRowTimes(const Database& database, AcceptRunRequest accept);

}  // namespace agent_graph::state
