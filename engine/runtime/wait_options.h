// Limits how long a call may suspend its fiber.
#pragma once

#include "base/clock.h"
#include "runtime/cancellation.h"

namespace agent_graph::runtime {

// The call ends with kCancelled or kDeadlineExceeded, whichever comes first. `cancellation` must
// outlive the call.
struct WaitOptions {
  const Cancellation& cancellation;
  Deadline deadline = kNoDeadline;
};

}  // namespace agent_graph::runtime
