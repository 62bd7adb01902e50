// Changes of a thread's state from outside while a run is in flight. Each change has a position
// among the run's entries; the later of two changes of a field wins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "state/pack/fields.h"
#include "state/requests.h"
#include "state/types.h"

namespace agent_graph::state {

// The parts of a thread's state that one change from outside sets.
struct OutsideChange {
  std::vector<std::string> fields;
  bool summary = false;
  bool everything = false;
  bool context_cleared = false;
};

// A change of a field by others, after the first `behind` entries of the run in flight.
struct OutsideFieldChange {
  std::string name;
  uint64_t behind = 0;
};
template <pack::SameAs<OutsideFieldChange> T>
auto Fields(T& row) {
  return std::tie(row.name, row.behind);
}

// Changes by others during a run, which the end of the run must not undo. Valid only for the lease
// with this epoch.
struct OutsideChangeRow {
  uint64_t lease_epoch = 0;
  std::vector<OutsideFieldChange> fields;
  std::optional<uint64_t> summary_behind;
  std::optional<uint64_t> all_behind;  // the state was cleared: every field and the summary
  // The context was cleared. Messages that the run adds belong to the old context, until it adds a
  // user message (a live session does so at its next turn), which starts a new context.
  bool context_cleared = false;
  bool context_restarted = false;
  // calls in the new context's messages that have no result yet
  std::vector<std::string> open_calls;
};
template <pack::SameAs<OutsideChangeRow> T>
auto Fields(T& row) {
  return std::tie(row.lease_epoch, row.fields, row.summary_behind, row.all_behind,
                  row.context_cleared, row.context_restarted, row.open_calls);
}

// Adds a change that was made after the run's first `behind` entries. kResourceExhausted: too many
// fields were changed, or their names are too long; `row` is then not to be used.
Status AddOutsideChange(const OutsideChange& change, uint64_t behind, OutsideChangeRow& row);

// The context was cleared during the run: returns true if a message of the run belongs to the new
// context, and then updates `outside`.
bool JoinsNewContext(const StoredMessage& message, OutsideChangeRow& outside);

// Returns the snapshot to store at the end of a run: `finish.snapshot` without the changes that a
// later change from outside has replaced. Clears `open_calls` if the run's pause is void.
Result<Snapshot> MergeFinished(const FinishRunRequest& finish, const Snapshot& stored,
                               const OutsideChangeRow& outside, std::vector<OpenCall>& open_calls);

}  // namespace agent_graph::state
