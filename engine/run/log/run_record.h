// Record of a finished run, passed to a RunListener such as the trace exporter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/log/run_status.h"
#include "state/types.h"

namespace agent_graph::run {

inline constexpr size_t kRecordEntriesMax = 2000;

// Times are in microseconds since the Unix epoch.
struct RunRecord {
  std::string thread_id;
  std::string run_id;
  std::string graph_name;
  std::string trace_parent;  // W3C traceparent of the request; may be empty
  RunStatus status = RunStatus::kDone;
  int64_t started_micros = 0;
  int64_t finished_micros = 0;
  // The run's log; only its beginning if it has more than kRecordEntriesMax entries.
  std::vector<state::LogEntry> entries;

  size_t Bytes() const;
};

}  // namespace agent_graph::run
