// Maintenance operations for administrators: verify, back up and repair a database. They block.
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
  std::vector<std::string> problems;  // the first ones; problem_count is the total
};

// True for 1 to 64 characters out of letters, digits, '-', '_' and '.', without a leading '.'.
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

// Reads every row of one snapshot with its checksum. Keys and values must be readable and rows must
// be consistent with each other. Returns kDataLoss if LevelDB itself cannot continue to read. Like
// Backup, ends with kUnavailable once `stopping` (may be null) is set.
Result<VerifyReport> Verify(const Database& database, const std::atomic<bool>* stopping = nullptr);

// Writes one snapshot as a new database into `directory`, which must not exist yet; it is created
// atomically. Writes to the database continue meanwhile. Returns kResourceExhausted if the disk is
// nearly full.
Result<BackupReport> Backup(const Database& database, const std::string& directory,
                            const std::atomic<bool>* stopping = nullptr);

// Repairs a closed database: keeps what LevelDB can read and corrects, from the other rows, every
// fault that Verify would report. What could not be read is lost; LevelDB keeps the damaged files
// under lost/.
Status Repair(const std::string& database_directory);

}  // namespace agent_graph::state
