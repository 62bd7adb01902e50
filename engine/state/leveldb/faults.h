// What is wrong with a database: rows that cannot be read, and rows that others contradict. What
// follows from other rows is told together with what it must be, so that who looks for faults and
// who mends them cannot be of two minds.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "state/leveldb/database.h"
#include "state/leveldb/keys.h"
#include "state/leveldb/numbering.h"
#include "state/leveldb/stopping.h"
#include "state/pack/fields.h"

namespace agent_graph::state {

struct Fault {
  std::string_view key;
  const char* what;
  std::optional<std::string> right;  // what the row must be; nullopt: it must not be there
};
using FaultUse = std::function<void(const Fault&)>;

struct RowsSeen {
  uint64_t rows = 0;
  uint64_t threads = 0;
  uint64_t memories = 0;
};

// One look through a snapshot.
class Examination {
 public:
  static constexpr char kBadKey[] = "the key cannot be read";
  static constexpr char kBadRow[] = "the row cannot be read";

  Examination(const DatabaseSnapshot& snapshot, const std::atomic<bool>* stopping, FaultUse use)
      : snapshot_(snapshot), stopping_(stopping), use_(std::move(use)) {}

  // Each row of the database. False: the look is over.
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

  // A row that cannot be read is none.
  template <typename Row>
  std::optional<Row> Find(const std::string& key) {
    Result<std::optional<std::string>> bytes = snapshot_.Get(key);
    Row row;
    if (!Note(bytes.status()) || !*bytes || !pack::FromBytes(**bytes, row)) return std::nullopt;
    return row;
  }
  // The row of a key that has been taken apart; what cannot be read is a fault.
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
  bool Exists(const std::string& key) {
    Result<std::optional<std::string>> bytes = snapshot_.Get(key);
    return Note(bytes.status()) && *bytes;
  }

  const DatabaseSnapshot& snapshot() const { return snapshot_; }
  const Status& status() const { return status_; }

  RowsSeen seen;
  NumbersInUse numbers;
  NumberSet threads;  // those that have a record

 private:
  const DatabaseSnapshot& snapshot_;
  const std::atomic<bool>* stopping_;
  const FaultUse use_;
  Status status_;
};

// Looks at every row. When `use` mends, it must do so in the order in which it is told: what leads
// nowhere goes first, what is missing comes behind. kUnavailable once `stopping` is set.
Result<RowsSeen> FindFaults(const DatabaseSnapshot& snapshot, const std::atomic<bool>* stopping,
                            const FaultUse& use);

// Only those of the counters that numbers of threads and memories come from.
Status FindNumberFaults(const DatabaseSnapshot& snapshot, const FaultUse& use);

}  // namespace agent_graph::state
