// Where a thread's graph stands: what `execution_meta` of its state shows, and where to resume.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agent_graph::run {

// `current_node` of a thread after a run that reached its end.
inline constexpr char kEndNode[] = "END";

// The durable part, kept in the snapshot. That a run is in flight is the lease's to say, never
// this.
struct ExecutionMeta {
  enum class Phase : uint8_t { kCompleted, kInterruptedBefore, kInterruptedAfter, kError };

  std::string current_node = "START";
  int64_t step = 0;
  Phase phase = Phase::kCompleted;
  std::string interrupted_node;
  std::string interrupt_reason;
  std::string interrupt_data_json = "null";
  std::string inputs_json;  // OpenInputs: calls that wait for the user; never sent to clients
  std::string resume_node;  // where the next run of a paused thread goes on
  bool stopped = false;     // the last run ended at somebody's request
  std::string error;        // text of the failure when phase is kError

  bool interrupted() const {
    return phase == Phase::kInterruptedBefore || phase == Phase::kInterruptedAfter;
  }

  std::string ToJson() const;
  // Unknown keys are ignored and unreadable text gives the initial value: a snapshot written by
  // another version must never keep a thread from running.
  static ExecutionMeta FromJson(std::string_view json);
};

const char* PhaseName(ExecutionMeta::Phase phase);  // "completed", "interrupted_before", ...

// Whether a run is in flight, and what was asked of it.
struct LiveFlags {
  bool running = false;
  bool stop_requested = false;
  std::vector<std::string> queued_runs = {};  // ids, in the order of their turns
};

// Appends the `execution_meta` object as clients read it.
void AppendExecutionMeta(std::string& out, const ExecutionMeta& meta, const LiveFlags& flags,
                         std::string_view thread_id);

}  // namespace agent_graph::run
