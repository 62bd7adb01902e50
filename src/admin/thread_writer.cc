#include "admin/thread_writer.h"

#include <optional>
#include <utility>

#include "state/pack/fields.h"
#include "state/rows/keys.h"
#include "state/rows/rows.h"
#include "state/thread/threads.h"

namespace agent_graph::admin {
namespace {

using agentflow::Conversation;
using state::ThreadEditor;
using state::ThreadRow;

template <typename Row>
Result<std::optional<Row>> Read(const state::DatabaseSnapshot& snapshot, const std::string& key) {
  AG_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, snapshot.Get(key));
  if (!bytes) return std::optional<Row>();
  Row row;
  if (!state::pack::FromBytes(*bytes, row)) return state::DamagedState();
  return std::optional<Row>(std::move(row));
}

}  // namespace

Result<std::unique_ptr<ThreadWriter>> ThreadWriter::Open(state::Database& database) {
  const state::DatabaseSnapshot snapshot(database);
  AG_ASSIGN_OR_RETURN(
      std::optional<state::MetadataIndexRow> index,
      Read<state::MetadataIndexRow>(snapshot, state::keys::Meta(state::kMetadataIndexName)));
  std::vector<std::string> names;
  if (index) names = std::move(index->names);
  return std::unique_ptr<ThreadWriter>(new ThreadWriter(database, std::move(names)));
}

Result<std::vector<WrittenThread>> ThreadWriter::Write(const std::vector<Conversation>& threads) {
  state::BatchUse use;
  for (const Conversation& thread : threads) {
    use.threads.push_back({.thread_id = thread.record.thread_id, .may_create = true});
  }
  AG_RETURN_IF_ERROR(database_.Prepare(use));
  std::vector<WrittenThread> written;
  for (const Conversation& thread : threads) {
    AG_ASSIGN_OR_RETURN(const WrittenThread outcome, WriteOne(thread));
    written.push_back(outcome);
  }
  if (transaction_.empty()) {
    AG_RETURN_IF_ERROR(database_.EndBatch());
  } else {
    AG_RETURN_IF_ERROR(transaction_.Commit());
  }
  (void)transaction_.TakeNoted();  // no caches here
  AG_RETURN_IF_ERROR(Check(threads, written));
  return written;
}

Result<WrittenThread> ThreadWriter::WriteOne(const Conversation& thread) {
  AG_ASSIGN_OR_RETURN(const std::optional<ThreadRow> known,
                      FindThread(transaction_, thread.record.thread_id));
  if (known) {
    return known->creation_id == thread.record.creation_id ? WrittenThread::kEarlier
                                                           : WrittenThread::kOccupied;
  }
  const Status staged = Stage(thread);
  if (!staged.ok()) {
    transaction_.Reject();
    return staged;
  }
  transaction_.Accept(/*sync=*/false);
  return WrittenThread::kNew;
}

Status ThreadWriter::Finish() {
  const std::unique_ptr<state::RowBatch> nothing = database_.NewBatch();
  return database_.WriteRows(*nothing, state::WriteSync::kNow);
}

Status ThreadWriter::Stage(const Conversation& thread) {
  const state::ThreadRecord& record = thread.record;
  AG_ASSIGN_OR_RETURN(ThreadRow row, CreateThread(transaction_, {.thread_id = record.thread_id,
                                                                 .owner = record.owner,
                                                                 .creation_id = record.creation_id,
                                                                 .name = record.name,
                                                                 .micros = record.created_micros}));
  row.metadata_json = record.metadata_json;
  row.last_run_id = record.last_run_id;
  ThreadEditor editor(transaction_, row.key());
  editor.ClearWindow();  // each thread has one, even if it is empty
  for (const Conversation::Item& item : thread.messages) {
    AG_RETURN_IF_ERROR(item.in_window
                           ? editor.AddMessages({item.message}, ThreadEditor::Existing::kKeep)
                           : editor.AddToHistory(item.message));
  }
  if (thread.has_state) editor.WriteSnapshot(thread.snapshot);
  editor.Save();
  TouchThread(transaction_, record.thread_id, row, record.updated_micros);
  return Status::Ok();
}

Status ThreadWriter::Check(const std::vector<Conversation>& threads,
                           const std::vector<WrittenThread>& written) const {
  const state::DatabaseSnapshot snapshot(database_);
  for (size_t i = 0; i < threads.size(); ++i) {
    if (written[i] != WrittenThread::kNew) continue;
    const std::string& id = threads[i].record.thread_id;
    AG_ASSIGN_OR_RETURN(const std::optional<ThreadRow> row,
                        Read<ThreadRow>(snapshot, state::keys::Thread(id)));
    uint64_t messages = 0;
    if (row) {
      AG_ASSIGN_OR_RETURN(const std::optional<state::CountersRow> counters,
                          Read<state::CountersRow>(snapshot, state::keys::Counters(row->key())));
      if (counters) messages = counters->messages;
    }
    if (row && messages == threads[i].messages.size()) continue;
    return {StatusCode::kDataLoss, "thread " + id + " has " + std::to_string(messages) +
                                       " messages after the import and should have " +
                                       std::to_string(threads[i].messages.size())};
  }
  return Status::Ok();
}

}  // namespace agent_graph::admin
