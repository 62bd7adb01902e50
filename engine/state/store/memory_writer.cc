#include "state/store/memory_writer.h"

#include <optional>
#include <string>
#include <utility>

#include "state/limits.h"
#include "state/rows/numbering.h"
#include "state/rules/memories.h"
#include "state/search/filter.h"

namespace agent_graph::state {
namespace {

Status NoSuchMemory() {
  return NotFound("memory not found");
}

}  // namespace

Result<std::optional<MemoryWriter::Memory>> MemoryWriter::FindMemory(const Scope& scope,
                                                                     const std::string& agent_id,
                                                                     const std::string& id) const {
  const std::optional<Memory> none;
  AG_ASSIGN_OR_RETURN(std::optional<MemoryKey> place,
                      transaction_.GetRow<MemoryKey>(keys::MemoryPlace(id)));
  if (!place) return none;
  AG_ASSIGN_OR_RETURN(std::optional<MemoryRecord> record,
                      transaction_.GetRow<MemoryRecord>(keys::Memory(*place)));
  if (!record || !MayTouch(scope, agent_id, *record)) return none;
  return std::optional<Memory>({*std::move(place), *std::move(record)});
}

void MemoryWriter::PutVector(const MemoryKey& key, const Embedding& embedding) {
  if (embedding.values.empty()) {
    transaction_.Delete(keys::MemoryVector(key));
  } else {
    transaction_.PutUnread(keys::MemoryVector(key), pack::ToBytes(embedding));
  }
  staged_.push_back(key);
}

void MemoryWriter::DropMemory(const Memory& memory) {
  transaction_.Delete(keys::MemoryPlace(memory.record.id));
  transaction_.Delete(keys::Memory(memory.key));
  transaction_.Delete(keys::MemoryVector(memory.key));
  transaction_.Delete(keys::MemoryListing(memory.key.number));
  staged_.push_back(memory.key);
}

Result<ReplyRow> MemoryWriter::StoreMemory(const StoreMemoryRequest& store, int64_t micros) {
  const std::string place = keys::MemoryPlace(store.record.id);
  AG_ASSIGN_OR_RETURN(std::optional<MemoryKey> taken, transaction_.GetRow<MemoryKey>(place));
  if (taken) return Status(StatusCode::kConflict, "a memory with this id exists");
  MemoryKey key{store.record.owner, 0};
  AG_ASSIGN_OR_RETURN(key.number, transaction_.TakeNumber(Counter::kMemory, kNextMemoryName));
  if (store.scope.kind == Scope::Kind::kOwner) key.owner = store.scope.user_id;
  MemoryRecord record = store.record;
  record.owner = key.owner;
  record.created_micros = record.updated_micros = micros;
  transaction_.PutRow(place, key);
  transaction_.PutRow(keys::Memory(key), record);
  transaction_.PutUnread(keys::MemoryListing(key.number), key.owner);
  PutVector(key, store.embedding);
  return ReplyRow{};
}

Result<ReplyRow> MemoryWriter::UpdateMemory(const UpdateMemoryRequest& update, int64_t micros) {
  AG_ASSIGN_OR_RETURN(std::optional<Memory> memory,
                      FindMemory(update.name.scope, update.name.agent_id, update.name.id));
  if (!memory) return NoSuchMemory();
  MemoryRecord& record = memory->record;
  AG_RETURN_IF_ERROR(ApplyUpdate(update, micros, record));
  transaction_.PutRow(keys::Memory(memory->key), record);
  PutVector(memory->key, update.embedding);
  return ReplyRow{};
}

Result<ReplyRow> MemoryWriter::ReplaceVectors(const ReplaceVectorsRequest& put) {
  if (put.vectors.size() > kPageItemsMax) {
    return Status(StatusCode::kInvalidArgument, "too many memories at once");
  }
  ReplacedVectors done;
  for (const NewVector& vector : put.vectors) {
    AG_ASSIGN_OR_RETURN(std::optional<Memory> memory, FindMemory(Scope::All(), "", vector.id));
    if (!memory || memory->record.content != vector.content) continue;
    PutVector(memory->key, vector.embedding);
    ++done.count;
  }
  ReplyRow reply;
  reply.body = pack::ToBytes(done);
  return reply;
}

Result<ReplyRow> MemoryWriter::DeleteMemory(const MemoryName& name) {
  AG_ASSIGN_OR_RETURN(std::optional<Memory> memory, FindMemory(name.scope, name.agent_id, name.id));
  if (!memory) return NoSuchMemory();
  DropMemory(*memory);
  return ReplyRow{};
}

Result<ReplyRow> MemoryWriter::RemoveMemories(const RemoveMemoriesRequest& remove) {
  if (remove.ids.size() > kPageItemsMax) {
    return Status(StatusCode::kInvalidArgument, "too many memories at once");
  }
  const FilterMatcher filter(remove.filter);
  RemovedMemories removed;
  for (const std::string& id : remove.ids) {
    AG_ASSIGN_OR_RETURN(std::optional<Memory> memory, FindMemory(remove.scope, "", id));
    if (!memory || !filter.Matches(memory->record)) continue;
    DropMemory(*memory);
    ++removed.count;
  }
  ReplyRow reply;
  reply.body = pack::ToBytes(removed);
  return reply;
}

void MemoryWriter::Accept() {
  changed_.insert(changed_.end(), staged_.begin(), staged_.end());
  staged_.clear();
}

void MemoryWriter::ForgetChanges() {
  staged_.clear();
  changed_.clear();
}

}  // namespace agent_graph::state
