// Isolates user code: its exceptions do not propagate beyond this call.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent_graph/execution.h"
#include "base/clock.h"
#include "base/status.h"
#include "run/run_environment.h"

namespace agent_graph::run {

// Calls `work` as `execution` requires. kBlocking: on a thread of the user pool; `deadline` and
// cancellation end the wait at once and abandon that thread, so `work` must own everything that it
// accesses. Otherwise: on the calling fiber. Returns kDeadlineExceeded if the work returned after
// the deadline, even on the calling fiber. Returns kGraph if it threw: "failed", with the
// exception's text if clients may see it, or with the limit that the function exceeded.
Status CallUserCode(const RunEnvironment& environment, Execution execution,
                    std::function<void()> work, const std::string& name, Deadline deadline);

}  // namespace agent_graph::run
