#include "state/postgres/rows/row_writes.h"

#include <array>

#include "base/hex.h"
#include "state/pack/fields.h"
#include "state/postgres/rows/tables.h"
#include "state/rows/rows.h"
#include "state/rules/run_state.h"

namespace agent_graph::state::postgres {
namespace {

using keys::Table;

// An index of PostgreSQL takes keys of up to 2704 bytes. Only rows that lead from a tool call or
// from metadata to a thread can have longer keys, with three very long ids. Such rows are left out,
// so the thread is not found by them.
constexpr size_t kKeyBytesMax = 2600;
// The arrays of one command stay below this, in bytes.
constexpr size_t kCommandBytesMax = 8 * 1024 * 1024;

// A column for operators: a text that PostgreSQL cannot store is shown in hex.
std::string Shown(const std::string& text) {
  return CanBeText(text) ? text : "\\x" + Hex(text.data(), text.size());
}

// Collects the rows of one INSERT and sends them as arrays, one per column.
class Insert {
 public:
  // `text` has one parameter per column; `bytes` and the others say their types.
  Insert(std::string text, std::vector<Command>& commands)
      : text_(std::move(text)), commands_(commands) {}

  struct Row {
    std::vector<std::string> bytes;
    std::vector<std::string> texts;
    std::vector<int64_t> numbers;
  };
  void Add(Row row) {
    for (const std::string& bytes : row.bytes) size_ += bytes.size();
    rows_.push_back(std::move(row));
    if (size_ >= kCommandBytesMax) Flush();
  }
  // The parameters: the columns of bytes, then those of texts, then the numbers.
  void Flush() {
    if (rows_.empty()) return;
    Command command{text_, {}};
    for (size_t i = 0; i < rows_[0].bytes.size(); ++i) {
      command.values.push_back(Value::BytesArray(Column(&Row::bytes, i)));
    }
    for (size_t i = 0; i < rows_[0].texts.size(); ++i) {
      command.values.push_back(Value::TextArray(Column(&Row::texts, i)));
    }
    for (size_t i = 0; i < rows_[0].numbers.size(); ++i) {
      command.values.push_back(Value::BigintArray(Column(&Row::numbers, i)));
    }
    commands_.push_back(std::move(command));
    rows_.clear();
    size_ = 0;
  }

 private:
  template <typename Field>
  std::vector<Field> Column(std::vector<Field> Row::* field, size_t index) {
    std::vector<Field> column;
    column.reserve(rows_.size());
    for (Row& row : rows_) column.push_back(std::move((row.*field)[index]));
    return column;
  }

  const std::string text_;
  std::vector<Command>& commands_;
  std::vector<Row> rows_;
  size_t size_ = 0;
};

constexpr char kThreadText[] =
    "INSERT INTO agent_graph.thread AS t "
    "(key, place, listing, owner_listing, last_run, value, thread_id, owner, name, number, "
    "updated) SELECT key, place, nullif(listing, ''), nullif(owner_listing, ''), "
    "nullif(last_run, ''), value, thread_id, owner, name, number, "
    "to_timestamp(nullif(updated, 0) / 1e6) "
    "FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], "
    "$7::text[], $8::text[], $9::text[], $10::bigint[], $11::bigint[]) AS r(key, place, listing, "
    "owner_listing, last_run, value, thread_id, owner, name, number, updated) "
    "ON CONFLICT (key) DO UPDATE SET place = EXCLUDED.place, listing = EXCLUDED.listing, "
    "owner_listing = EXCLUDED.owner_listing, last_run = EXCLUDED.last_run, value = EXCLUDED.value, "
    "owner = EXCLUDED.owner, "
    "name = EXCLUDED.name, number = EXCLUDED.number, updated = EXCLUDED.updated";

constexpr char kLeaseText[] =
    "INSERT INTO agent_graph.lease AS l "
    "(thread, lease_key, value, thread_id, instance, client, run_id, epoch) "
    "SELECT thread, lease_key, value, thread_id, nullif(instance, '')::uuid, client, run_id, epoch "
    "FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::text[], $5::text[], $6::text[], "
    "$7::text[], $8::bigint[]) "
    "AS r(thread, lease_key, value, thread_id, instance, client, run_id, epoch) "
    "ON CONFLICT (thread) DO UPDATE SET lease_key = EXCLUDED.lease_key, value = EXCLUDED.value, "
    "thread_id = EXCLUDED.thread_id, instance = EXCLUDED.instance, client = EXCLUDED.client, "
    "run_id = EXCLUDED.run_id, epoch = EXCLUDED.epoch, version = l.version + 1";

constexpr char kMessageText[] =
    "INSERT INTO agent_graph.message (key, id_key, value) "
    "SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) "
    "ON CONFLICT (key) DO UPDATE SET id_key = EXCLUDED.id_key, value = EXCLUDED.value";

constexpr char kRunText[] =
    "INSERT INTO agent_graph.run "
    "(key, value, run_id, status, number, attempt, created, finished) "
    "SELECT key, value, run_id, status, number, attempt, to_timestamp(created / 1e6), "
    "to_timestamp(nullif(finished, 0) / 1e6) "
    "FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], "
    "$7::bigint[], $8::bigint[]) "
    "AS r(key, value, run_id, status, number, attempt, created, finished) "
    "ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, status = EXCLUDED.status, "
    "attempt = EXCLUDED.attempt, finished = EXCLUDED.finished";

constexpr char kRunRequestText[] =
    "INSERT INTO agent_graph.run_request (key, value, instance, run_order) "
    "SELECT key, value, nullif(instance, '')::uuid, run_order "
    "FROM unnest($1::bytea[], $2::bytea[], $3::text[], $4::bigint[]) "
    "AS r(key, value, instance, run_order) "
    "ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, instance = EXCLUDED.instance";

// Tables that have only keys and values.
constexpr std::array kPlainTables = {
    std::pair{SqlTable::kMeta, "meta"},         std::pair{SqlTable::kHead, "head"},
    std::pair{SqlTable::kSnapshot, "snapshot"}, std::pair{SqlTable::kLog, "log"},
    std::pair{SqlTable::kRunKey, "run_key"},    std::pair{SqlTable::kLookup, "lookup"},
    std::pair{SqlTable::kReply, "reply"},       std::pair{SqlTable::kMemory, "memory_row"}};

std::string PlainText(const char* table) {
  return std::string("INSERT INTO agent_graph.") + table +
         " (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[]) "
         "ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value";
}

// Sorts the changes of a batch by table and turns them into commands.
class Writer {
 public:
  explicit Writer(const SqlRowBatch& batch) {
    for (const auto& [key, value] : batch.Latest()) {
      const RowSource* source = SourceOf(key);
      if (source == nullptr || source->written_to == SqlTable::kNone) continue;
      if (source->written_to == SqlTable::kLookup && key.size() > kKeyBytesMax) continue;
      Changes& changes = changes_[source->written_to];
      if (*value) {
        changes.puts.emplace_back(key, &**value);
      } else {
        changes.deletes.emplace_back(key);
      }
    }
  }

  Result<std::vector<Command>> Commands() && {
    DeleteRows();
    PutThreads();
    PutLeases();
    PutMessages();
    PutRuns();
    PutRunRequests();
    for (const auto& [table, name] : kPlainTables) PutPlain(table, name);
    AG_RETURN_IF_ERROR(status_);
    return std::move(commands_);
  }

 private:
  struct Changes {
    std::vector<std::pair<std::string_view, const std::string*>> puts;
    std::vector<std::string> deletes;
  };

  void Delete(std::string text, const std::vector<std::string>& keys) {
    if (!keys.empty()) commands_.push_back({std::move(text), {Value::BytesArray(keys)}});
  }

  void DeleteRows() {
    // Does not count the version: a lease that begins and ends in this batch has no row here yet.
    Delete(
        "UPDATE agent_graph.lease SET lease_key = NULL, value = NULL, instance = NULL, "
        "client = NULL, run_id = NULL, epoch = NULL WHERE lease_key = ANY($1)",
        changes_[SqlTable::kLease].deletes);
    const std::vector<std::string>& threads = changes_[SqlTable::kThread].deletes;
    Delete("DELETE FROM agent_graph.thread WHERE key = ANY($1)", threads);
    Delete("DELETE FROM agent_graph.lease WHERE thread = ANY($1)", threads);
    const auto delete_from = [&](SqlTable table, const std::string& name) {
      Delete("DELETE FROM agent_graph." + name + " WHERE key = ANY($1)", changes_[table].deletes);
    };
    delete_from(SqlTable::kMessage, "message");
    delete_from(SqlTable::kRun, "run");
    delete_from(SqlTable::kRunRequest, "run_request");
    for (const auto& [table, name] : kPlainTables) delete_from(table, name);
  }

  // Calls `add` with the decoded row of each put.
  template <typename Row, typename Add>
  void ForEachRow(SqlTable table, const char* text, Add add) {
    Insert insert(text, commands_);
    for (const auto& [key, value] : changes_[table].puts) {
      Row row;
      if (!pack::FromBytes(*value, row)) {
        status_ = DamagedState();
        return;
      }
      insert.Add(add(std::string(key), *value, row));
    }
    insert.Flush();
  }

  void PutThreads() {
    ForEachRow<ThreadRow>(
        SqlTable::kThread, kThreadText,
        [](const std::string& key, const std::string& value, const ThreadRow& row) {
          keys::Parser parser(key, Table::kThread);
          const std::string thread_id = parser.Text();
          std::string listing;
          std::string owner_listing;
          // A thread is listed from its first update on.
          if (row.updated_micros != 0) {
            listing = keys::Listing(row.updated_micros, thread_id);
            if (!row.owner.empty()) {
              owner_listing = keys::ListingByOwner(row.owner, row.updated_micros, thread_id);
            }
          }
          std::string last_run;
          if (!row.last_run_id.empty()) last_run = keys::Run(row.key(), row.last_run_id);
          return Insert::Row{{key, PlaceOf(row.key()), listing, owner_listing, last_run, value},
                             {Shown(thread_id), Shown(row.owner), Shown(row.name)},
                             {static_cast<int64_t>(row.number), row.updated_micros}};
        });
  }

  void PutLeases() {
    ForEachRow<LeaseRow>(SqlTable::kLease, kLeaseText,
                         [](const std::string& key, const std::string& value, const LeaseRow& row) {
                           return Insert::Row{{keys::Thread(row.thread_id), key, value},
                                              {Shown(row.thread_id), row.hosts.instance,
                                               Shown(row.client), Shown(row.run_id)},
                                              {static_cast<int64_t>(row.epoch)}};
                         });
  }

  void PutMessages() {
    ForEachRow<MessageRow>(
        SqlTable::kMessage, kMessageText,
        [](const std::string& key, const std::string& value, const MessageRow& row) {
          keys::Parser parser(key, Table::kMessage);
          return Insert::Row{{key, keys::MessageId(parser.Thread(), row.id), value}, {}, {}};
        });
  }

  void PutRuns() {
    ForEachRow<RunRow>(
        SqlTable::kRun, kRunText,
        [](const std::string& key, const std::string& value, const RunRow& row) {
          const RunRecord& run = row.record;
          return Insert::Row{
              {key, value},
              {Shown(run.run_id), std::string(RunStateName(run.state))},
              {static_cast<int64_t>(run.thread_number), static_cast<int64_t>(run.attempt),
               run.created_micros, run.finished_micros}};
        });
  }

  void PutRunRequests() {
    ForEachRow<RunRequestRow>(
        SqlTable::kRunRequest, kRunRequestText,
        [](const std::string& key, const std::string& value, const RunRequestRow& row) {
          return Insert::Row{{key, value}, {row.instance}, {static_cast<int64_t>(row.order)}};
        });
  }

  void PutPlain(SqlTable table, const char* name) {
    Insert insert(PlainText(name), commands_);
    for (const auto& [key, value] : changes_[table].puts) {
      insert.Add({{std::string(key), *value}, {}, {}});
    }
    insert.Flush();
  }

  std::map<SqlTable, Changes> changes_;
  std::vector<Command> commands_;
  Status status_;
};

}  // namespace

void SqlRowBatch::Put(std::string_view key, std::string_view value) {
  bytes_ += key.size() + value.size();
  changes_.emplace_back(key, std::string(value));
}

void SqlRowBatch::Delete(std::string_view key) {
  bytes_ += key.size();
  changes_.emplace_back(key, std::nullopt);
}

void SqlRowBatch::Clear() {
  changes_.clear();
  bytes_ = 0;
}

void SqlRowBatch::ForEach(
    const std::function<void(std::string_view key, std::optional<std::string_view> value)>& use)
    const {
  for (const auto& [key, value] : changes_) {
    use(key, value ? std::optional<std::string_view>(*value) : std::nullopt);
  }
}

std::map<std::string_view, const std::optional<std::string>*> SqlRowBatch::Latest() const {
  std::map<std::string_view, const std::optional<std::string>*> latest;
  for (const auto& [key, value] : changes_) latest.insert_or_assign(key, &value);
  return latest;
}

std::vector<MemoryKey> SqlRowBatch::ChangedMemories() const {
  std::vector<MemoryKey> memories;
  for (const auto& [key, value] : Latest()) {
    if (key.empty()) continue;
    const auto kind = static_cast<Table>(key[0]);
    if (kind != Table::kMemory && kind != Table::kMemoryVector) continue;
    keys::Parser parser(key, kind);
    MemoryKey memory = parser.Memory();
    if (parser.ok()) memories.push_back(std::move(memory));
  }
  return memories;
}

Result<std::vector<Command>> WriteCommands(const SqlRowBatch& batch) {
  return Writer(batch).Commands();
}

}  // namespace agent_graph::state::postgres
