// The execution state of a thread's graph: shown as `execution_meta`, and where to resume.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agent_graph::run {

// `current_node` of a thread whose last run reached the end.
inline constexpr char kEndNode[] = "END";

// The durable part, stored in the snapshot. If a run is in flight is known only from the lease.
struct ExecutionMeta {
  enum class Phase : uint8_t { kCompleted, kInterruptedBefore, kInterruptedAfter, kError };

  std::string current_node = "START";
  int64_t step = 0;
  Phase phase = Phase::kCompleted;
  std::string interrupted_node;
  std::string interrupt_reason;
  std::string interrupt_data_json = "null";
  std::string inputs_json;  // OpenInputs: calls that wait for the user; never sent to clients
  std::string resume_node;  // node where the next run of a paused thread resumes
  // The messages of a resume are stored, but it ended before its first node: the thread stays
  // paused.
  bool unexecuted_resume = false;
  bool stopped = false;  // the last run was stopped on request
  std::string error;     // error text if phase is kError

  bool interrupted() const {
    return phase == Phase::kInterruptedBefore || phase == Phase::kInterruptedAfter;
  }

  // True if the last run has stored its request and did not answer it.
  bool request_is_open() const { return phase == Phase::kError || unexecuted_resume; }

  std::string ToJson() const;
  // Ignores unknown keys and returns the initial value for malformed text: a snapshot written by
  // another version must not prevent the thread from running.
  static ExecutionMeta FromJson(std::string_view json);
};

const char* PhaseName(ExecutionMeta::Phase phase);  // "completed", "interrupted_before", ...

// The transient part: the run in flight and the requests to it.
struct LiveFlags {
  bool running = false;
  bool stop_requested = false;
  std::vector<std::string> queued_runs = {};  // run ids in queue order
};

// Returns the object that shows clients why a thread is paused: node, reason, status and, if there
// is one, data. `meta` must be interrupted.
std::string InterruptJson(const ExecutionMeta& meta);

// Appends the `execution_meta` object as clients receive it.
void AppendExecutionMeta(std::string& out, const ExecutionMeta& meta, const LiveFlags& flags,
                         std::string_view thread_id);

}  // namespace agent_graph::run
