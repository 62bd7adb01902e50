// state::StateServer: the one process on a machine that holds the stored data and serves it to the
// workers. Started by StartStateServer (state/factory/factory.h).
//
// It is a role, not a process. Candidates wait for the lock on owner.lock in the state directory.
// The one that gets it opens the stored data, increments the server epoch and serves the socket. It
// hands over when a candidate of a newer generation asks for it, or when Finish is called. If it is
// killed, the kernel releases the lock and the next candidate continues with the same data. Clients
// notice that their connection has closed, connect to the new server and resend unanswered
// operations.
#pragma once

#include "base/clock.h"

namespace agent_graph::state {

// A candidate for the role, and the server while it holds the lock. Thread-safe. Destruction
// releases the role at once; clients get no notice.
class StateServer {
 public:
  virtual ~StateServer() = default;

  // Continues to serve until no client is connected or the deadline has passed, then releases the
  // role. A candidate that does not hold the role ends at once.
  virtual void Finish(Deadline deadline) = 0;

  // Waits until this candidate holds the role and serves. Returns false at the deadline.
  virtual bool WaitUntilServing(Deadline deadline) = 0;
};

}  // namespace agent_graph::state
