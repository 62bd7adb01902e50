// state::Maintenance: operations for administrators: verify, back up, re-embed memories.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "state/memories.h"
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
template <pack::SameAs<VerifyReport> T>
auto Fields(T& s) {
  return std::tie(s.rows, s.threads, s.memories, s.problem_count, s.problems);
}

struct BackupReport {
  uint64_t rows = 0;
  uint64_t bytes = 0;
};
template <pack::SameAs<BackupReport> T>
auto Fields(T& s) {
  return std::tie(s.rows, s.bytes);
}

// True for 1 to 64 characters out of letters, digits, '-', '_' and '.', without a leading '.'.
bool IsBackupName(std::string_view name);

// After the embedding has changed: lists memories whose vectors have another space or length.
struct ListUnembeddedRequest {
  std::string space;
  uint64_t dimensions = 0;
  uint64_t limit = 100;
  std::string cursor;  // from the previous page
};
template <pack::SameAs<ListUnembeddedRequest> T>
auto Fields(T& s) {
  return std::tie(s.space, s.dimensions, s.limit, s.cursor);
}

struct UnembeddedMemory {
  std::string id;
  std::string content;
};
template <pack::SameAs<UnembeddedMemory> T>
auto Fields(T& s) {
  return std::tie(s.id, s.content);
}

struct UnembeddedPage {
  std::vector<UnembeddedMemory> memories;  // newest first; may be empty before the last page
  uint64_t looked_at = 0;
  std::string next_cursor;  // empty: no more
};
template <pack::SameAs<UnembeddedPage> T>
auto Fields(T& s) {
  return std::tie(s.memories, s.looked_at, s.next_cursor);
}

struct NewVector {
  std::string id;
  std::string content;  // the text that was embedded; a memory whose text has changed is skipped
  Embedding embedding;
};
template <pack::SameAs<NewVector> T>
auto Fields(T& s) {
  return std::tie(s.id, s.content, s.embedding);
}

struct ReplaceVectorsRequest {
  std::vector<NewVector> vectors;
};
template <pack::SameAs<ReplaceVectorsRequest> T>
auto Fields(T& s) {
  return std::tie(s.vectors);
}

struct ReplacedVectors {
  uint64_t count = 0;
};
template <pack::SameAs<ReplacedVectors> T>
auto Fields(T& s) {
  return std::tie(s.count);
}

// Thread-safe. Calls suspend the calling fiber (a plain thread blocks), for as long as reading all
// rows takes.
class Maintenance {
 public:
  virtual ~Maintenance() = default;

  // Reads every row and checks that rows are consistent with each other. kDataLoss: the storage
  // cannot be read any further.
  virtual Result<VerifyReport> Verify() = 0;
  // Copies one consistent snapshot to the backup `name`, which must not exist. Writes continue
  // meanwhile. kInvalidArgument: not an IsBackupName; kNotConfigured: the backend makes none.
  virtual Result<BackupReport> Backup(const std::string& name) = 0;
  // Returns one page of memories, newest first, without those that have a suitable vector.
  virtual Result<UnembeddedPage> ListUnembedded(const ListUnembeddedRequest& list) = 0;
  // Stores vectors; skips memories that were changed or removed.
  virtual Result<ReplacedVectors> ReplaceVectors(const ReplaceVectorsRequest& replace) = 0;
};

// Maintenance of stored data that no process uses. Calls block.
class ClosedState {
 public:
  virtual ~ClosedState() = default;
  // Does the same as Maintenance::Verify.
  virtual Result<VerifyReport> Verify() = 0;
  // Copies the data into `directory`, which must not exist.
  virtual Result<BackupReport> Backup(const std::string& directory) = 0;
  // Keeps what can be read and corrects, from the other rows, every problem that Verify reports.
  virtual Status Repair() = 0;
  // Ok if this version can open the data. kUnavailable: a later version has written it.
  virtual Status CheckReadable() = 0;
};

}  // namespace agent_graph::state
