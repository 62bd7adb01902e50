#include "state/postgres/import/row_import.h"

#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "base/sha256.h"
#include "state/pack/fields.h"
#include "state/postgres/rows/tables.h"
#include "state/rows/rows.h"

namespace agent_graph::state::postgres {
namespace {

using keys::Table;

constexpr size_t kRowsAtOnce = 2000;
constexpr size_t kBytesAtOnce = size_t{4} * 1024 * 1024;

// The kinds that are counted. Rows of other kinds follow from these, or are few.
struct CountedKind {
  Table kind;
  const char* name;
};
constexpr CountedKind kCounted[] = {
    {Table::kThread, "threads"},
    {Table::kSnapshot, "states"},
    {Table::kMessage, "messages"},
    {Table::kLog, "log rows"},
    {Table::kRun, "runs"},
    {Table::kRunRequest, "accepted runs"},
    {Table::kRunKey, "idempotency keys"},
    {Table::kMemory, "memories"},
    {Table::kMemoryVector, "vectors"},
};

// Counters and epochs are sequences of the database.
bool IsCounter(std::string_view key) {
  return key == keys::Meta(kNextThreadName) || key == keys::Meta(kNextMemoryName) ||
         key == keys::Meta(kNextRunOrderName) || key == keys::Meta("owner_epoch");
}

template <typename Row>
Result<Row> Decode(std::string_view value) {
  Row row;
  if (pack::FromBytes(value, row)) return row;
  return Status(StatusCode::kDataLoss, "a row cannot be read: verify and repair the state first");
}

Status SourceChanged() {
  return {StatusCode::kConflict,
          "the state is not what it was when its import began: import into a new database"};
}

Status BegunByEarlierVersion() {
  return {
      StatusCode::kConflict,
      "an earlier version began this import and did not complete it: import into a new database"};
}

Command AdvanceSequence(const char* name, uint64_t last) {
  const std::string sequence = std::string("agent_graph.") + name;
  return {
      "SELECT setval('" + sequence + "', greatest($1, (SELECT last_value FROM " + sequence + ")))",
      {Value::Number(std::max<uint64_t>(last, 1))}};
}

}  // namespace

RowImport::RowImport(Connection& connection, std::string source)
    : connection_(connection), source_(std::move(source)) {}

Status RowImport::Begin() {
  AG_ASSIGN_OR_RETURN(const Rows rows,
                      connection_.Execute({"SELECT next_key, complete, instance, digest "
                                           "FROM agent_graph.import WHERE source = $1",
                                           {Value::Text(source_)}}));
  if (!rows.empty()) {
    next_key_ = rows[0].Bytes(0);
    complete_ = rows[0].Bool(1);
    instance_ = rows[0].Uuid(2);
    if (const std::string_view digest = rows[0].Bytes(3); !digest.empty()) earlier_digest_ = digest;
  }
  // The version before stored the row of an import before it wrote anything.
  is_stored_ = complete_ || !next_key_.empty();
  if (is_stored_) return complete_ || earlier_digest_ ? Status::Ok() : BegunByEarlierVersion();
  instance_ = NewHexId();
  return CheckEmpty();
}

Status RowImport::CreateInTransaction() {
  // The lock of the cluster's row orders this transaction and those in which hosts join: a host
  // that joins later finds the import.
  AG_RETURN_IF_ERROR(
      connection_
          .ExecuteAll(
              {{"SELECT 1 FROM agent_graph.cluster FOR UPDATE"},
               {"SELECT 1 FROM agent_graph.instance WHERE NOT dead FOR UPDATE"},
               {"UPDATE agent_graph.instance SET dead = true, ended = now() WHERE NOT dead"}})
          .status());
  AG_RETURN_IF_ERROR(CheckEmpty());
  return connection_
      .ExecuteAll({{"DELETE FROM agent_graph.import WHERE NOT complete"},
                   {"INSERT INTO agent_graph.instance "
                    "(id, incarnation, dead, host, address, version, schema, ended) "
                    "VALUES ($1, 1, true, 'import', '', '', 0, now())",
                    {Value::Uuid(instance_)}},
                   {"INSERT INTO agent_graph.import (source, instance) VALUES ($1, $2)",
                    {Value::Text(source_), Value::Uuid(instance_)}}})
      .status();
}

Status RowImport::CheckEmpty() {
  AG_ASSIGN_OR_RETURN(const Rows rows,
                      connection_.Execute({"SELECT EXISTS (SELECT 1 FROM agent_graph.thread) OR "
                                           "EXISTS (SELECT 1 FROM agent_graph.memory_row) OR "
                                           "EXISTS (SELECT 1 FROM agent_graph.import "
                                           "WHERE NOT complete AND next_key <> '')"}));
  if (!rows[0].Bool(0)) return Status::Ok();
  return {StatusCode::kConflict, "the database is not empty: import into a new one"};
}

void RowImport::AddToDigest(std::string_view key, std::string_view value) {
  std::string text = digest_;
  text.append(std::to_string(key.size())).append(" ").append(key).append(value);
  const Sha256Digest digest = Sha256(text);
  digest_.assign(digest.begin(), digest.end());
}

Status RowImport::CheckUnchanged() {
  const std::optional<std::string> earlier = std::exchange(earlier_digest_, std::nullopt);
  return !earlier || *earlier == digest_ ? Status::Ok() : SourceChanged();
}

Status RowImport::Add(std::string_view key, std::string_view value) {
  if (key.empty()) return Status::Ok();
  if (key >= next_key_) {
    AG_RETURN_IF_ERROR(CheckUnchanged());
    if (complete_) return SourceChanged();
  }
  AddToDigest(key, value);
  const auto kind = static_cast<Table>(key[0]);
  ++read_[kind];
  numbers_.Add(key, value);
  AG_RETURN_IF_ERROR(Take(kind, key, value));
  if (key < next_key_) return Status::Ok();
  next_key_ = std::string(key) + '\0';
  ++rows_;
  if (rows_ < kRowsAtOnce && batch_.bytes() < kBytesAtOnce) return Status::Ok();
  return Flush();
}

Status RowImport::Take(Table kind, std::string_view key, std::string_view value) {
  if (kind == Table::kReply) return Status::Ok();
  if (kind == Table::kMeta && IsCounter(key)) {
    AG_ASSIGN_OR_RETURN(const uint64_t counter, Decode<uint64_t>(value));
    if (key == keys::Meta("owner_epoch")) epoch_ = std::max(epoch_, counter);
    if (key == keys::Meta(kNextRunOrderName)) run_order_ = counter;
    return Status::Ok();
  }
  std::string changed;
  if (kind == Table::kLease) {
    AG_ASSIGN_OR_RETURN(LeaseRow lease, Decode<LeaseRow>(value));
    lease.hosts.instance = instance_;
    epoch_ = std::max(epoch_, lease.epoch);
    changed = pack::ToBytes(lease);
  } else if (kind == Table::kRunRequest) {
    AG_ASSIGN_OR_RETURN(RunRequestRow request, Decode<RunRequestRow>(value));
    request.instance = instance_;
    changed = pack::ToBytes(request);
  }
  if (key < next_key_) return Status::Ok();
  if (kind == Table::kThread) threads_.emplace_back(key);
  batch_.Put(key, changed.empty() ? value : changed);
  return Status::Ok();
}

Status RowImport::Write(const std::vector<Command>& commands) {
  if (is_stored_) return connection_.ExecuteAll(commands).status();
  connection_.Begin();
  Status written = CreateInTransaction();
  if (written.ok()) written = connection_.Commit(commands).status();
  if (connection_.in_transaction()) connection_.Rollback();
  is_stored_ = written.ok();
  return written;
}

Status RowImport::Flush() {
  AG_ASSIGN_OR_RETURN(std::vector<Command> commands, WriteCommands(batch_));
  // Each thread has a row that writers lock.
  if (!threads_.empty()) {
    commands.push_back(
        {"INSERT INTO agent_graph.lease (thread) SELECT unnest($1::bytea[]) "
         "ON CONFLICT DO NOTHING",
         {Value::BytesArray(threads_)}});
  }
  commands.push_back({"UPDATE agent_graph.import SET next_key = $2, digest = $3 WHERE source = $1",
                      {Value::Text(source_), Value::Bytes(next_key_), Value::Bytes(digest_)}});
  AG_RETURN_IF_ERROR(Write(commands));
  batch_.Clear();
  threads_.clear();
  rows_ = 0;
  return Status::Ok();
}

std::vector<Command> RowImport::CounterCommands() const {
  return {AdvanceSequence("thread_number", numbers_.largest_thread()),
          AdvanceSequence("memory_number", numbers_.largest_memory()),
          AdvanceSequence("run_order", run_order_),
          {"UPDATE agent_graph.cluster SET epoch = greatest(epoch, $1)", {Value::Number(epoch_)}}};
}

Status RowImport::Complete() {
  std::vector<Command> commands = CounterCommands();
  commands.push_back(
      {"UPDATE agent_graph.import SET complete = true WHERE source = $1", {Value::Text(source_)}});
  AG_RETURN_IF_ERROR(connection_.ExecuteAll(commands).status());
  complete_ = true;
  return Status::Ok();
}

Result<std::vector<ImportedKind>> RowImport::Finish() {
  AG_RETURN_IF_ERROR(CheckUnchanged());
  if (complete_) return std::vector<ImportedKind>();
  AG_RETURN_IF_ERROR(Flush());
  AG_ASSIGN_OR_RETURN(std::vector<ImportedKind> kinds, Count());
  for (const ImportedKind& kind : kinds) {
    if (kind.read == kind.stored) continue;
    return Status(StatusCode::kDataLoss, std::to_string(kind.read) + " " + kind.name +
                                             " were read, but the database has " +
                                             std::to_string(kind.stored));
  }
  AG_RETURN_IF_ERROR(Complete());
  return kinds;
}

Result<std::vector<ImportedKind>> RowImport::Count() {
  std::vector<ImportedKind> kinds;
  for (const CountedKind& counted : kCounted) {
    const char first = static_cast<char>(counted.kind);
    const RowSource& source = *SourceOf(std::string_view(&first, 1));
    const std::string begin(1, first);
    const std::string end(1, static_cast<char>(first + 1));
    std::string statement = "SELECT count(*) FROM agent_graph.";
    statement.append(source.table).append(" WHERE ").append(source.key);
    statement.append(" >= $1 AND ").append(source.key).append(" < $2");
    AG_ASSIGN_OR_RETURN(
        const Rows rows,
        connection_.Execute({std::move(statement), {Value::Bytes(begin), Value::Bytes(end)}}));
    kinds.push_back({counted.name, read_[counted.kind], rows[0].Number(0)});
  }
  return kinds;
}

}  // namespace agent_graph::state::postgres
