// Executes the changes of memories. memories.h has the reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "state/maintenance.h"
#include "state/memories.h"
#include "state/rows/rows.h"
#include "state/rows/transaction.h"
#include "state/types.h"

namespace agent_graph::state {

// Used by a Store on its thread. Each operation stages its changes in the store's transaction and
// returns the reply, or an error; the store then accepts or rejects what is staged.
class MemoryWriter {
 public:
  explicit MemoryWriter(Transaction& transaction) : transaction_(transaction) {}

  Result<ReplyRow> StoreMemory(const StoreMemoryRequest& store, int64_t micros);
  Result<ReplyRow> UpdateMemory(const UpdateMemoryRequest& update, int64_t micros);
  Result<ReplyRow> DeleteMemory(const MemoryName& name);
  Result<ReplyRow> RemoveMemories(const RemoveMemoriesRequest& remove);
  Result<ReplyRow> ReplaceVectors(const ReplaceVectorsRequest& put);

  // The transaction has accepted, or rejected, what is staged.
  void Accept();
  void Reject() { staged_.clear(); }
  // The memories that were stored, changed or deleted since the last call.
  std::vector<MemoryKey> TakeChanged() { return std::exchange(changed_, {}); }
  // Forgets the changes since TakeChanged, because their batch is not written.
  void ForgetChanges();

 private:
  struct Memory {
    MemoryKey key;
    MemoryRecord record;
  };
  // Returns nullopt if there is no such memory that the caller may access.
  Result<std::optional<Memory>> FindMemory(const Scope& scope, const std::string& agent_id,
                                           const std::string& id) const;
  void PutVector(const MemoryKey& key, const Embedding& embedding);
  void DropMemory(const Memory& memory);

  Transaction& transaction_;
  std::vector<MemoryKey> staged_;  // changed by the current operation
  std::vector<MemoryKey> changed_;
};

}  // namespace agent_graph::state
