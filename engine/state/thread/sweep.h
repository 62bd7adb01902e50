// Deletes, in the background, the rows of threads that were deleted, and entries of logs that were
// cut. Only for databases that one host writes: hosts that share one use postgres/row_sweep.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "base/status.h"
#include "state/rows/database.h"
#include "state/rows/keys.h"
#include "state/rows/transaction.h"

namespace agent_graph::state {

// Limits how much the write thread sweeps before it looks for requests again. The sizes are those
// of the rows that are read.
struct SweepPortion {
  size_t rows = 256;
  size_t bytes = size_t{1} * 1024 * 1024;

  void Take(size_t rows_taken, size_t bytes_taken) {
    rows -= std::min(rows, rows_taken);
    bytes -= std::min(bytes, bytes_taken);
  }
  bool is_used_up() const { return rows == 0 || bytes == 0; }
};

// How far a sweep has come, so that it does not step over deleted rows again and again: LevelDB
// keeps them for a while. Markers that are added behind it are found by the next pass.
struct SweepPosition {
  std::set<std::string> skipped = {};  // keys of markers of threads that cannot be swept
  std::string after = {};              // the marker that was swept last; empty: none in this pass
  std::string marker = {};             // of the thread that is swept; empty: none
  size_t table = 0;
  std::string from = {};     // empty: the first row of the table
  bool is_reported = false;  // an error of this sweep

  // Goes on with the next thread.
  void Pass();
  // After an error: goes on with another thread. False: there is no thread to skip, or too many
  // were skipped.
  bool SkipThread();
  void BeginAgain();  // with the first thread that is not skipped
};

// Deletes rows of one deleted thread, until the portion is used up. Returns false if no deleted
// thread is left.
Result<bool> SweepDeletedThread(const Database& database, Transaction& transaction,
                                SweepPortion& portion, SweepPosition& position);

// Deletes log rows that were cut off one thread, until the portion is used up. Returns false if
// none are left.
Result<bool> SweepCutLog(const Database& database, Transaction& transaction, SweepPortion& portion,
                         SweepPosition& position);

}  // namespace agent_graph::state
