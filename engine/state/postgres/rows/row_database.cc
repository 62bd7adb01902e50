#include "state/postgres/rows/row_database.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "state/pack/fields.h"
#include "state/postgres/memories/memory_changes.h"
#include "state/postgres/rows/row_view.h"
#include "state/rows/keys.h"

namespace agent_graph::state::postgres {
namespace {

using keys::Table;

// Readers hold no locks: between two reads of a view, the caller may take its time.
ConnectionOptions ReaderOptions(ConnectionOptions options) {
  options.idle_in_transaction_timeout = std::chrono::minutes(1);
  return options;
}

}  // namespace

RowDatabase::RowDatabase(const RowDatabaseOptions& options)
    : Database(options.identity.instance),
      identity_(options.identity),
      writer_(options.connection),
      reads_([this](const std::vector<Command>& commands) { return Send(commands); }),
      pool_(ReaderOptions(options.connection), options.readers) {}

Result<std::vector<Rows>> RowDatabase::Send(const std::vector<Command>& commands) const {
  AG_RETURN_IF_ERROR(failure_);
  Result<std::vector<Rows>> results = writer_.ExecuteAll(commands);
  if (!results.ok()) failure_ = results.status();
  return results;
}

Result<std::optional<std::string>> RowDatabase::Get(const std::string& key) const {
  if (IsFresh(key) && !reads_.Knows(key)) return std::optional<std::string>();
  return reads_.Get(key);
}

Status RowDatabase::Scan(const std::string& begin, const std::string& end,
                         const RowUse& row) const {
  return reads_.Scan(begin, end, row);
}

Status RowDatabase::ScanBackwards(const std::string& begin, const std::string& end,
                                  const RowUse& row) const {
  return reads_.ScanBackwards(begin, end, row);
}

std::unique_ptr<DatabaseView> RowDatabase::TakeView() const {
  return std::make_unique<RowView>(pool_);
}

std::unique_ptr<RowBatch> RowDatabase::NewBatch() const {
  return std::make_unique<SqlRowBatch>();
}

bool RowDatabase::IsFresh(std::string_view key) const {
  if (fresh_.empty()) return false;
  const std::string_view place = PlaceIn(key);
  if (place.empty()) return false;
  uint64_t number = 0;
  for (const char byte : place.substr(place.size() - 8)) {
    number = number << 8 | static_cast<uint8_t>(byte);
  }
  return fresh_.contains(number);
}

void RowDatabase::Forget() {
  reads_.Forget();
  locked_.clear();
  made_leases_.clear();
  fresh_.clear();
}

// Leases of threads that were not created after all.
std::vector<std::string> RowDatabase::UnusedLeases(const SqlRowBatch& batch) const {
  std::vector<std::string> unused;
  const auto latest = batch.Latest();
  for (const std::string& key : made_leases_) {
    const auto change = latest.find(key);
    const bool exists =
        change != latest.end() ? change->second->has_value() : reads_.Find(key) != nullptr;
    if (!exists) unused.push_back(key);
  }
  return unused;
}

Status RowDatabase::WriteRows(RowBatch& batch, bool) {
  if (!writer_.in_transaction()) AG_RETURN_IF_ERROR(Prepare({}));
  AG_RETURN_IF_ERROR(failure_);
  const auto& rows = static_cast<const SqlRowBatch&>(batch);
  AG_ASSIGN_OR_RETURN(std::vector<Command> commands, WriteCommands(rows));
  const std::vector<std::string> unused = UnusedLeases(rows);
  if (!unused.empty()) {
    commands.push_back(
        {"DELETE FROM agent_graph.lease WHERE thread = ANY($1)", {Value::BytesArray(unused)}});
  }
  AddNotices(commands);
  // Last, because they lock rows that the changes of many memories share.
  for (Command& command : RecordMemoryChanges(rows.ChangedMemories())) {
    commands.push_back(std::move(command));
  }
  Forget();
  failure_ = writer_.Commit(commands).status();
  return failure_;
}

void RowDatabase::AddNotices(std::vector<Command>& commands) {
  for (const HostNotice& notice : notices_) {
    std::string body = pack::ToBytes(notice);
    if (notice.instance.empty()) {
      commands.push_back(
          {"INSERT INTO agent_graph.notice (instance, kind, body) "
           "SELECT id, $2, $3 FROM agent_graph.instance WHERE id <> $1 AND NOT dead",
           {Value::Uuid(identity_.instance), Value::Integer(static_cast<int32_t>(notice.kind)),
            Value::Bytes(body)}});
    } else {
      commands.push_back(
          {"INSERT INTO agent_graph.notice (instance, kind, body) VALUES ($1, $2, $3)",
           {Value::Uuid(notice.instance), Value::Integer(static_cast<int32_t>(notice.kind)),
            Value::Bytes(body)}});
    }
  }
  notices_.clear();
}

Result<std::vector<std::string>> RowDatabase::ThreadsHeldBy(const std::string& instance,
                                                            size_t limit) {
  AG_ASSIGN_OR_RETURN(const std::vector<Rows> results,
                      Send({{"SELECT thread FROM agent_graph.lease WHERE lease_key IS NOT NULL AND "
                             "instance = $1 LIMIT $2",
                             {Value::Uuid(instance), Value::Number(limit)}}}));
  std::vector<std::string> threads;
  for (size_t i = 0; i < results[0].size(); ++i) {
    const std::string key(results[0][i].Bytes(0));
    threads.push_back(keys::Parser(key, Table::kThread).Text());
  }
  return threads;
}

Result<std::vector<std::string>> RowDatabase::StatesOf(
    const std::vector<std::string>& thread_ids) const {
  std::vector<std::string> keys;
  for (const std::string& thread_id : thread_ids) keys.push_back(keys::Thread(thread_id));
  const BorrowedConnection borrowed(pool_);
  AG_ASSIGN_OR_RETURN(Connection* const connection, borrowed.get());
  // The lease row changes with each append, and with the beginning and the end of a run.
  AG_ASSIGN_OR_RETURN(const Rows rows,
                      connection->Execute({"SELECT l.thread, l.xmin::text || '/' || l.ctid::text "
                                           "FROM agent_graph.lease l WHERE l.thread = ANY($1)",
                                           {Value::BytesArray(keys)}}));
  std::unordered_map<std::string, std::string> found;
  for (size_t i = 0; i < rows.size(); ++i) {
    found.emplace(rows[i].Bytes(0), rows[i].Text(1));
  }
  std::vector<std::string> states;
  for (const std::string& key : keys) states.push_back(found[key]);
  return states;
}

Status RowDatabase::EndBatch() {
  AG_RETURN_IF_ERROR(failure_);
  if (!notices_.empty()) return WriteRows(*NewBatch(), true);
  if (writer_.in_transaction()) writer_.Rollback();
  Forget();
  return Status::Ok();
}

void RowDatabase::StopWaiting() {
  writer_.Interrupt();
  pool_.Stop();
}

Result<BackupReport> RowDatabase::BackUp(const std::string&, const std::atomic<bool>*) const {
  return Status(StatusCode::kNotConfigured,
                "the state is in PostgreSQL: back the database up with its own tools");
}

}  // namespace agent_graph::state::postgres
