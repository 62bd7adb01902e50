// Executes accepted runs in this worker: those that the state grants to it. No client is connected
// to such a run; clients follow its log.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "run/host/live_run.h"
#include "run/loop/runner.h"
#include "state/runs.h"

namespace agent_graph::run {

struct RunHostOptions {
  size_t runs_max = 8192;  // more are given back for another worker
  // Counts bytes that runs hold (negative: less) as memory of the worker. May be empty.
  std::function<void(int64_t bytes)> count_bytes;
  // Waits until the worker has room for so many bytes, which then count. May be empty.
  std::function<Status(uint64_t bytes, Deadline deadline)> await_bytes;
  LogFunction log;  // may be empty
};

// Thread-safe. Must outlive the fibers of its runs.
class RunHost {
 public:
  RunHost(Runner& runner, state::Service& state, runtime::Runtime& runtime, RunHostOptions options);

  // Starts the run on a fiber of its own. Called on any thread; never blocks.
  void Execute(state::GrantedRun granted);
  // The run, if this worker executes it; else null.
  std::shared_ptr<LiveRun> Find(const std::string& run_id) const;
  // Number of runs that were granted and have not ended or left.
  size_t count() const;
  // Makes runs leave at their next node boundary: another worker continues them.
  void HandOver();
  // Also cuts model calls and idempotent tools. Runs in other user code end with their process.
  void HandOverNow();
};

}  // namespace agent_graph::run
