#include "state/thread/metadata_index.h"

#include <optional>
#include <utility>

#include "state/rules/metadata.h"

namespace agent_graph::state {
namespace {

// There are no rows by owner for threads without an owner, as in the listings.
void DeleteValues(Transaction& transaction, const std::string& thread_id, const std::string& owner,
                  const IndexedThreadRow& indexed) {
  for (const MetadataValue& value : indexed.values) {
    transaction.Delete(keys::Metadata(value, indexed.updated_micros, thread_id));
    if (owner.empty()) continue;
    transaction.Delete(keys::MetadataByOwner(owner, value, indexed.updated_micros, thread_id));
  }
}

void PutValues(Transaction& transaction, const std::string& thread_id, const std::string& owner,
               const IndexedThreadRow& indexed) {
  for (const MetadataValue& value : indexed.values) {
    transaction.Put(keys::Metadata(value, indexed.updated_micros, thread_id), {});
    if (owner.empty()) continue;
    transaction.Put(keys::MetadataByOwner(owner, value, indexed.updated_micros, thread_id), {});
  }
}

// A row that cannot be read names no values. Rows that stay behind are recognised by searches.
IndexedThreadRow ReadIndexed(const Transaction& transaction, const std::string& key) {
  Result<std::optional<IndexedThreadRow>> row = transaction.GetRow<IndexedThreadRow>(key);
  return row.ok() && *row ? **std::move(row) : IndexedThreadRow();
}

}  // namespace

void IndexThread(Transaction& transaction, const std::string& thread_id, const ThreadRow& row) {
  if (transaction.indexed_metadata().empty()) return;
  const std::string key = keys::IndexedThread(row.key());
  const IndexedThreadRow before = ReadIndexed(transaction, key);
  const IndexedThreadRow now{row.updated_micros,
                             MetadataValuesOf(row.metadata_json, transaction.indexed_metadata())};
  if (before.values == now.values &&
      (now.values.empty() || before.updated_micros == now.updated_micros)) {
    return;
  }
  DeleteValues(transaction, thread_id, row.owner, before);
  PutValues(transaction, thread_id, row.owner, now);
  if (now.values.empty()) {
    transaction.Delete(key);
  } else {
    transaction.PutRow(key, now);
  }
}

void UnindexThread(Transaction& transaction, const std::string& thread_id, const ThreadRow& row) {
  const std::string key = keys::IndexedThread(row.key());
  const IndexedThreadRow indexed = ReadIndexed(transaction, key);
  if (indexed.values.empty()) return;
  DeleteValues(transaction, thread_id, row.owner, indexed);
  transaction.Delete(key);
}

}  // namespace agent_graph::state
