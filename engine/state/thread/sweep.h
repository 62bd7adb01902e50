// Deletes, in the background, the rows of threads that were deleted, and entries of logs that were
// cut.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "base/status.h"
#include "state/rows/database.h"
#include "state/rows/keys.h"
#include "state/rows/transaction.h"

namespace agent_graph::state {

// How far a sweep has come, so that the next portion does not scan deleted rows again.
struct SweepPosition {
  std::set<std::string> skipped = {};  // keys of markers of threads that cannot be swept
  std::string marker = {};             // of the thread that is swept; empty: none was found
  keys::ThreadKey thread = {};
  size_t table = 0;
  std::string from = {};     // empty: the first row of the table
  bool is_reported = false;  // an error of this sweep

  // After an error: the next portion sweeps another thread. False: there is no thread to skip, or
  // too many were skipped.
  bool SkipThread();
  void BeginAgain();  // with the first thread that is not skipped
};

// Deletes up to `rows_max` rows of one deleted thread. Returns false if no deleted thread is left.
Result<bool> SweepDeletedThread(const Database& database, Transaction& transaction, size_t rows_max,
                                SweepPosition& position);

// Deletes up to `rows_max` log rows that were cut off. Returns false if none are left.
Result<bool> SweepCutLog(const Database& database, Transaction& transaction, size_t rows_max,
                         SweepPosition& position);

}  // namespace agent_graph::state
