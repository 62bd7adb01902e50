// The stored memories, as the index reads them. A backend implements MemoryRows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "state/memories.h"
#include "state/pack/fields.h"

namespace agent_graph::state {

// Owner and number of a memory. Numbers are never reused; a later memory has a larger one.
struct MemoryKey {
  std::string owner;
  uint64_t number = 0;

  friend bool operator==(const MemoryKey&, const MemoryKey&) = default;
};
template <pack::SameAs<MemoryKey> T>
auto Fields(T& s) {
  return std::tie(s.owner, s.number);
}

// A consistent view of the stored memories. For one thread. Calls block.
class MemorySnapshot {
 public:
  virtual ~MemorySnapshot() = default;

  // Calls `use` for each memory of the scope, or each vector, until it fails; returns its error.
  using UseRecord = std::function<Status(const MemoryKey& key, const MemoryRecord& record)>;
  using UseVector = std::function<Status(const MemoryKey& key, const Embedding& embedding)>;
  virtual Status ForEachRecord(const Scope& scope, const UseRecord& use) const = 0;
  virtual Status ForEachVector(const Scope& scope, const UseVector& use) const = 0;

  // Return nullopt if there is none.
  virtual Result<std::optional<MemoryRecord>> FindRecord(const MemoryKey& key) const = 0;
  virtual Result<std::optional<Embedding>> FindVector(const MemoryKey& key) const = 0;

  // The same for several memories, in their order.
  virtual Result<std::vector<std::optional<MemoryRecord>>> FindRecords(
      const std::vector<MemoryKey>& keys) const {
    std::vector<std::optional<MemoryRecord>> records;
    for (const MemoryKey& key : keys) {
      AG_ASSIGN_OR_RETURN(records.emplace_back(), FindRecord(key));
    }
    return records;
  }
  virtual Result<std::vector<std::optional<Embedding>>> FindVectors(
      const std::vector<MemoryKey>& keys) const {
    std::vector<std::optional<Embedding>> vectors;
    for (const MemoryKey& key : keys) {
      AG_ASSIGN_OR_RETURN(vectors.emplace_back(), FindVector(key));
    }
    return vectors;
  }
};

// Changes that other processes have made.
struct ForeignChanges {
  std::vector<MemoryKey> memories;
  bool missed_some = false;  // everything that was read before may be outdated
};

// Thread-safe.
class MemoryRows {
 public:
  virtual ~MemoryRows() = default;
  // Contains every change that MemoryIndex::Changed, or TakeForeignChanges, has reported.
  virtual std::unique_ptr<MemorySnapshot> Snapshot() const = 0;
  // Reports changes of the scope's memories that other processes have committed since the last call
  // for it, before it returns to any caller. Blocks.
  using UseChanges = std::function<void(const ForeignChanges& changes)>;
  virtual Status TakeForeignChanges(const Scope&, const UseChanges&) const { return Status::Ok(); }
};

}  // namespace agent_graph::state
