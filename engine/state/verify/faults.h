// Finds the faults of a database: rows that cannot be read, and rows that contradict others. If the
// correct value follows from other rows, the fault contains it, so that Verify and Repair always
// agree.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "state/pack/fields.h"
#include "state/rows/database.h"
#include "state/rows/keys.h"
#include "state/rows/numbering.h"
#include "state/rules/stopping.h"

namespace agent_graph::state {

// A row that is wrong. `key` is valid during the call only; `what` is a text for the report.
struct Fault {
  std::string_view key;
  const char* what;
  std::optional<std::string> right;  // correct value of the row; nullopt: the row must be deleted
};
using FaultUse = std::function<void(const Fault&)>;

struct RowsSeen {
  uint64_t rows = 0;
  uint64_t threads = 0;
  uint64_t memories = 0;
};

// State of one pass over a snapshot.
class Examination {
 public:
  static constexpr char kBadKey[] = "the key cannot be read";
  static constexpr char kBadRow[] = "the row cannot be read";

  Examination(const DatabaseSnapshot& snapshot, const std::atomic<bool>* stopping, FaultUse use)
      : snapshot_(snapshot), stopping_(stopping), use_(std::move(use)) {}

  // Call for each row of the database. Returns false to end the pass.
  bool See(std::string_view key, std::string_view value) {
    ++seen.rows;
    numbers.Add(key, value);
    return Note(CheckStopping(stopping_));
  }
  void Wrong(std::string_view key, const char* what,
             std::optional<std::string> right = std::nullopt) {
    if (status_.ok()) use_({key, what, std::move(right)});
  }
  bool Note(Status status) {
    if (status_.ok()) status_ = std::move(status);
    return status_.ok();
  }

  // Reads rows of one table that Find, Exists and Bytes will ask for, and keeps them until they are
  // forgotten.
  void Prefetch(const std::vector<std::string>& keys) {
    if (keys.empty()) return;
    Result<std::vector<std::optional<std::string>>> rows = snapshot_.GetAll(keys);
    if (!Note(rows.status())) return;
    for (size_t i = 0; i < keys.size(); ++i) prefetched_[keys[i]] = std::move((*rows)[i]);
  }
  void ForgetPrefetched() { prefetched_.clear(); }

  // Returns nullopt also for a row that cannot be read.
  template <typename Row>
  std::optional<Row> Find(const std::string& key) {
    const std::optional<std::string> bytes = Bytes(key);
    Row row;
    if (!bytes || !pack::FromBytes(*bytes, row)) return std::nullopt;
    return row;
  }
  // Decodes the row of a parsed key; reports a fault if key or row cannot be read.
  template <typename Row>
  std::optional<Row> Read(std::string_view key, std::string_view value,
                          const keys::Parser& parser) {
    Row row;
    if (!parser.ok() || !parser.at_end()) {
      Wrong(key, kBadKey);
    } else if (!pack::FromBytes(value, row)) {
      Wrong(key, kBadRow);
    } else {
      return row;
    }
    return std::nullopt;
  }
  bool Exists(const std::string& key) { return Bytes(key).has_value(); }
  std::optional<std::string> Bytes(const std::string& key) {
    if (const auto known = prefetched_.find(key); known != prefetched_.end()) return known->second;
    Result<std::optional<std::string>> bytes = snapshot_.Get(key);
    return Note(bytes.status()) ? *std::move(bytes) : std::nullopt;
  }

  const DatabaseSnapshot& snapshot() const { return snapshot_; }
  const Status& status() const { return status_; }

  RowsSeen seen;
  NumbersInUse numbers;
  NumberSet threads;  // threads that have a record

 private:
  const DatabaseSnapshot& snapshot_;
  const std::atomic<bool>* stopping_;
  const FaultUse use_;
  std::unordered_map<std::string, std::optional<std::string>> prefetched_;
  Status status_;
};

// Examines every row. A `use` that repairs must do so in the order of the calls: invalid references
// are reported before missing rows. Returns kUnavailable once `stopping` is set.
Result<RowsSeen> FindFaults(const DatabaseSnapshot& snapshot, const std::atomic<bool>* stopping,
                            const FaultUse& use);

// Like FindFaults, but only for the counters that assign the numbers of threads and memories.
Status FindNumberFaults(const DatabaseSnapshot& snapshot, const FaultUse& use);

}  // namespace agent_graph::state
