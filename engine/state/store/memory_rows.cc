#include "state/store/memory_rows.h"

#include <optional>
#include <string>
#include <string_view>

#include "state/rows/keys.h"
#include "state/thread/thread_read.h"

namespace agent_graph::state {
namespace {

std::string MemoriesPrefix(keys::Table table, const Scope& scope) {
  return scope.kind == Scope::Kind::kOwner ? keys::MemoryPrefix(table, scope.user_id)
                                           : keys::TablePrefix(table);
}

class StoredMemorySnapshot : public MemorySnapshot {
 public:
  explicit StoredMemorySnapshot(const Database& database) : snapshot_(database) {}

  Status ForEachRecord(const Scope& scope, const UseRecord& use) const override {
    return ForEachRow<MemoryRecord>(keys::Table::kMemory, scope, use);
  }
  Status ForEachVector(const Scope& scope, const UseVector& use) const override {
    return ForEachRow<Embedding>(keys::Table::kMemoryVector, scope, use);
  }
  Result<std::optional<MemoryRecord>> FindRecord(const MemoryKey& key) const override {
    return ReadRow<MemoryRecord>(snapshot_, keys::Memory(key));
  }
  Result<std::optional<Embedding>> FindVector(const MemoryKey& key) const override {
    return ReadRow<Embedding>(snapshot_, keys::MemoryVector(key));
  }
  Result<std::vector<std::optional<MemoryRecord>>> FindRecords(
      const std::vector<MemoryKey>& keys) const override {
    return FindRows<MemoryRecord>(keys, keys::Memory);
  }
  Result<std::vector<std::optional<Embedding>>> FindVectors(
      const std::vector<MemoryKey>& keys) const override {
    return FindRows<Embedding>(keys, keys::MemoryVector);
  }

 private:
  template <typename Row, typename KeyOf>
  Result<std::vector<std::optional<Row>>> FindRows(const std::vector<MemoryKey>& memories,
                                                   KeyOf key_of) const {
    std::vector<std::string> keys;
    keys.reserve(memories.size());
    for (const MemoryKey& memory : memories) keys.push_back(key_of(memory));
    AG_ASSIGN_OR_RETURN(const auto values, snapshot_.GetAll(keys));
    std::vector<std::optional<Row>> rows(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] && !pack::FromBytes(*values[i], rows[i].emplace())) return DamagedState();
    }
    return rows;
  }
  template <typename Row, typename Use>
  Status ForEachRow(keys::Table table, const Scope& scope, const Use& use) const {
    Status status;
    const std::string prefix = MemoriesPrefix(table, scope);
    AG_RETURN_IF_ERROR(snapshot_.Scan(
        prefix, keys::PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
          keys::Parser parser(key, table);
          const MemoryKey memory = parser.Memory();
          Row row;
          status = parser.ok() && pack::FromBytes(value, row) ? use(memory, row) : DamagedState();
          return status.ok();
        }));
    return status;
  }

  const DatabaseSnapshot snapshot_;
};

}  // namespace

std::unique_ptr<MemorySnapshot> StoredMemoryRows::Snapshot() const {
  return std::make_unique<StoredMemorySnapshot>(database_);
}

}  // namespace agent_graph::state
