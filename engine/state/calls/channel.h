// A client's way to an executor: through the gateway's socket, or directly in the same process.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "state/backend.h"
#include "state/calls/operations.h"

namespace agent_graph::runtime {
class Cancellation;
}

namespace agent_graph::state {

// Thread-safe. Call blocks the calling thread or suspends its fiber; the other functions do not
// wait for the executor.
class Channel {
 public:
  virtual ~Channel() = default;

  virtual Status Start() = 0;
  // Calls that are not answered yet, and later ones, fail with kUnavailable.
  virtual void Stop() = 0;
  virtual const BackendCounters& counters() const = 0;

  // See Backend::RefuseGrants.
  virtual void RefuseGrants() = 0;

  // Returns the beginning of a request, to which the caller appends its packed body.
  virtual std::string BeginRequest(Operation operation, int64_t micros) const = 0;

  struct CallOptions {
    const runtime::Cancellation* cancellation = nullptr;
    // A request that the executor has queued may take this much longer than other requests.
    std::chrono::milliseconds queued_wait{};
    // May be null. Set to false if the call failed before any executor could have received the
    // request, otherwise to true.
    bool* taken = nullptr;
  };
  // Sends a request, waits for the reply and returns its packed body.
  virtual Result<std::string> Call(std::string request, const CallOptions& options) = 0;

  // Registers a run that this client holds or requests; an executor releases all other runs of the
  // client when it reconnects. `cancellation` may be null; it is cancelled on CancelRun. Returns
  // kConflict if the client already holds a run with that id on that thread, kUnavailable if it is
  // still releasing one. A run that the client was granted is held from then on; this call sets its
  // cancellation, or returns kFenced if it was granted again after `granted_epoch` (0: not known).
  virtual Status Hold(const std::string& thread_id, const std::string& run_id,
                      uint64_t granted_epoch, const runtime::Cancellation* cancellation) = 0;
  virtual void Unhold(const std::string& thread_id, const std::string& run_id) = 0;
  // The same for an attempt that has lost its lease or gives it back, unless a later attempt of the
  // run was granted to this client.
  virtual void UnholdAttempt(const std::string& thread_id, const std::string& run_id,
                             uint64_t lease_epoch) = 0;
  // Releases a run without waiting for the reply; sent as soon as there is an executor.
  // `lease_epoch`: 0 if the run was not granted before it began. A later attempt stays held.
  virtual void Release(const std::string& thread_id, const std::string& run_id,
                       uint64_t lease_epoch) = 0;
};

}  // namespace agent_graph::state
