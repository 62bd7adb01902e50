#include "run/log/run_record.h"

namespace agent_graph::run {

size_t RunRecord::Bytes() const {
  size_t bytes = sizeof(RunRecord) + thread_id.size() + run_id.size() + trace_parent.size();
  for (const state::LogEntry& entry : entries) {
    bytes += sizeof(state::LogEntry) + entry.kind.capacity() + entry.json.capacity();
  }
  return bytes;
}

}  // namespace agent_graph::run
