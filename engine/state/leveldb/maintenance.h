// What an administrator does with a database: look whether it is whole, copy it, mend it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "state/leveldb/database.h"
#include "state/pack/fields.h"

namespace agent_graph::state {

struct VerifyReport {
  static constexpr size_t kProblemsMax = 100;

  uint64_t rows = 0;
  uint64_t threads = 0;
  uint64_t memories = 0;
  uint64_t problem_count = 0;
  std::vector<std::string> problems;  // the first of them
};

// Letters, digits, '-', '_' and '.', not first; at most 64.
bool IsBackupName(std::string_view name);

struct BackupReport {
  uint64_t rows = 0;
  uint64_t bytes = 0;
};

template <pack::SameAs<VerifyReport> T>
auto Fields(T& report) {
  return std::tie(report.rows, report.threads, report.memories, report.problem_count,
                  report.problems);
}
template <pack::SameAs<BackupReport> T>
auto Fields(T& report) {
  return std::tie(report.rows, report.bytes);
}

// Reads every row of one snapshot, with its checksum: keys and values must be readable, and what
// rows say of each other must be true. kDataLoss when LevelDB itself cannot read on. Like Backup
// ends with kUnavailable once `stopping`, which may be null, is set.
Result<VerifyReport> Verify(const Database& database, const std::atomic<bool>* stopping = nullptr);

// Writes one snapshot as a database of its own into `directory`, which must not exist yet; it is
// there whole or not at all. Writers go on meanwhile. kResourceExhausted: the disk is nearly full.
Result<BackupReport> Backup(const Database& database, const std::string& directory,
                            const std::atomic<bool>* stopping = nullptr);

// Of a closed database: saves what LevelDB can still read and makes what Verify would complain of
// as the other rows say. What could not be read is gone; LevelDB keeps the damaged files under
// lost/.
Status Repair(const std::string& database_directory);

}  // namespace agent_graph::state
