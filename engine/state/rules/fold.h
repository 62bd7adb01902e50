// The fold of a run's log: rebuilds what a run has changed in the state from its entries, for a run
// whose end was not stored. Runs no user code: the effects hold values as they are after the
// reducers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "state/requests.h"
#include "state/rules/outside_change.h"
#include "state/types.h"

namespace agent_graph::state {

// Kind of the first log entry of a run.
inline constexpr char kRunStarted[] = "run_started";

// Collects the effects of one run from its thread's log, read backwards. A run's entries follow
// each other, because a thread has one run at a time.
class RunEffects {
 public:
  explicit RunEffects(uint64_t lease_epoch) : lease_epoch_(lease_epoch) {}

  // Takes the entries of one append, oldest first, and the epoch of the lease that appended them;
  // 0: unknown, an older build stored them. Returns false when no earlier append is needed.
  bool TakeEarlier(std::vector<LogEntry> entries, uint64_t lease_epoch);

  // Returns `stored` with the changes of the run, as the end of the run would have stored it, or
  // an error if an effect cannot be read. `base_fields_json`: the custom fields as the run has
  // loaded them; nullopt: unknown. A field whose value then is not certain stays as it is stored.
  Result<Snapshot> FoldInto(Snapshot stored, const std::optional<std::string>& base_fields_json,
                            const OutsideChangeRow& outside) const;

 private:
  const uint64_t lease_epoch_;
  std::vector<StateEffect> effects_;  // newest first
  bool started_ = false;              // the entry that begins the run was taken
  bool lacks_older_ = false;          // earlier entries may have had effects that are not stored
};

}  // namespace agent_graph::state
