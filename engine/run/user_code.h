// The wall around user code: its exceptions end here.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent_graph/execution.h"
#include "base/clock.h"
#include "base/status.h"
#include "run/run_environment.h"

namespace agent_graph::run {

// Calls `work` as `execution` says: on a thread of the user pool, where `deadline` and cancellation
// end the wait at once and leave the thread behind (so `work` must own all it touches), or right
// here. kDeadlineExceeded when it returned after the deadline, even if that was not waited for;
// kGraph when it throws: "failed", with the exception's text where clients may see that, or with
// the bound of ours that the function met.
Status CallUserCode(const RunEnvironment& environment, Execution execution,
                    std::function<void()> work, const std::string& name, Deadline deadline);

}  // namespace agent_graph::run
