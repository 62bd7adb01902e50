#include "state/postgres/rows/row_database.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "state/pack/fields.h"
#include "state/rows/keys.h"

namespace agent_graph::state::postgres {
namespace {

using keys::Table;

constexpr size_t kNumbersAtOnce = 64;

// A view of one moment, over a connection of the pool.
class View : public DatabaseView {
 public:
  explicit View(ConnectionPool& pool)
      : pool_(pool),
        reads_([this](const std::vector<Command>& commands) { return Send(commands); }) {
    Result<Connection*> connection = pool_.Take();
    if (connection.ok()) {
      connection_ = *connection;
    } else {
      status_ = connection.status();
    }
  }
  ~View() override {
    if (connection_ == nullptr) return;
    connection_->Rollback();
    pool_.Return(connection_);
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  Result<std::optional<std::string>> Get(const std::string& key) const override {
    return reads_.Get(key);
  }
  Status Scan(const std::string& begin, const std::string& end, const RowUse& row) const override {
    return reads_.Scan(begin, end, row);
  }
  Status ScanBackwards(const std::string& begin, const std::string& end,
                       const RowUse& row) const override {
    return reads_.ScanBackwards(begin, end, row);
  }
  std::unique_ptr<RowCursor> NewCursor(const std::string& begin, std::string end) const override {
    return NewRowCursor(reads_, begin, std::move(end));
  }

 private:
  Result<std::vector<Rows>> Send(const std::vector<Command>& commands) const {
    AG_RETURN_IF_ERROR(status_);
    if (connection_->in_transaction()) return connection_->ExecuteAll(commands);
    connection_->Begin();
    std::vector<Command> all = {{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"}};
    all.insert(all.end(), commands.begin(), commands.end());
    AG_ASSIGN_OR_RETURN(std::vector<Rows> results, connection_->ExecuteAll(all));
    results.erase(results.begin());
    return results;
  }

  ConnectionPool& pool_;
  Connection* connection_ = nullptr;
  Status status_;
  SqlRowReads reads_;
};

// Takes a connection of the pool for one call.
class Borrowed {
 public:
  explicit Borrowed(ConnectionPool& pool) : pool_(pool), connection_(pool.Take()) {}
  ~Borrowed() {
    if (connection_.ok()) pool_.Return(*connection_);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  const Result<Connection*>& get() const { return connection_; }

 private:
  ConnectionPool& pool_;
  const Result<Connection*> connection_;
};

std::vector<std::string> KeysOf(const std::vector<const ThreadUse*>& threads) {
  std::vector<std::string> keys;
  for (const ThreadUse* thread : threads) keys.push_back(keys::Thread(thread->thread_id));
  std::ranges::sort(keys);
  return keys;
}

// The number of advisory locks of rows that belong to no thread.
int64_t LockOf(std::string_view key) {
  uint64_t hash = 14695981039346656037ull;  // FNV-1a
  for (const char byte : key) hash = (hash ^ static_cast<uint8_t>(byte)) * 1099511628211ull;
  return static_cast<int64_t>(hash);
}

const char* SequenceOf(Counter counter) {
  switch (counter) {
    case Counter::kThread:
      return "agent_graph.thread_number";
    case Counter::kMemory:
      return "agent_graph.memory_number";
    case Counter::kRunOrder:
      return "agent_graph.run_order";
  }
  return "";
}

Command NumbersCommand(Counter counter) {
  return {std::string("SELECT nextval('") + SequenceOf(counter) + "') FROM generate_series(1, $1)",
          {Value::Number(kNumbersAtOnce)}};
}

void TakeNumbers(const Rows& rows, std::vector<uint64_t>& numbers) {
  // The smallest number is taken first.
  for (size_t i = rows.size(); i > 0; --i) numbers.insert(numbers.begin(), rows[i - 1].Number(0));
  std::ranges::sort(numbers, std::greater());
}

}  // namespace

RowDatabase::RowDatabase(const RowDatabaseOptions& options)
    : Database(options.identity.instance),
      identity_(options.identity),
      writer_(options.connection),
      reads_([this](const std::vector<Command>& commands) { return Send(commands); }),
      pool_(options.connection, options.readers) {}

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
  return std::make_unique<View>(pool_);
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

RowDatabase::Step RowDatabase::FenceStep() const {
  return {{"SELECT 1 FROM agent_graph.instance "
           "WHERE id = $1 AND incarnation = $2 AND NOT dead FOR KEY SHARE",
           {Value::Uuid(identity_.instance), Value::Number(identity_.incarnation)}},
          [](const Rows& rows) {
            if (!rows.empty()) return Status::Ok();
            return Status(StatusCode::kFenced, "this host's instance was declared dead");
          }};
}

Status RowDatabase::Prepare(const BatchUse& use) {
  std::vector<Step> steps;
  if (!writer_.in_transaction()) {
    Forget();
    writer_.Begin();
    steps.push_back(FenceStep());
  }
  for (Step& step : StepsOf(use)) steps.push_back(std::move(step));
  if (steps.empty()) return Status::Ok();
  return Run(std::move(steps));
}

Status RowDatabase::Run(std::vector<Step> steps) {
  std::vector<Command> commands;
  commands.reserve(steps.size());
  for (const Step& step : steps) commands.push_back(step.command);
  AG_ASSIGN_OR_RETURN(const std::vector<Rows> results, Send(commands));
  for (size_t i = 0; i < steps.size() && failure_.ok(); ++i) {
    if (steps[i].take) failure_ = steps[i].take(results[i]);
  }
  return failure_;
}

std::vector<RowDatabase::Step> RowDatabase::StepsOf(const BatchUse& use) {
  std::vector<Step> steps;
  std::vector<std::string> keys;
  std::vector<int64_t> locks;
  for (const std::string& key : use.keys) {
    if (!locked_.insert(key).second) continue;
    keys.push_back(key);
    locks.push_back(LockOf(key));
  }
  if (!keys.empty()) {
    steps.push_back({{"SELECT count(pg_advisory_xact_lock(number)) FROM "
                      "(SELECT unnest($1::bigint[]) AS number ORDER BY 1) AS sorted",
                      {Value::BigintArray(locks)}},
                     {}});
  }
  std::vector<const ThreadUse*> threads;
  for (const ThreadUse& thread : use.threads) {
    if (locked_.insert(keys::Thread(thread.thread_id)).second) threads.push_back(&thread);
  }
  if (!threads.empty()) AddThreadSteps(threads, steps);
  std::vector<const ThreadUse*> all;
  for (const ThreadUse& thread : use.threads) all.push_back(&thread);
  if (!all.empty()) AddRowSteps(all, steps);
  for (const std::string& key : keys) {
    const RowSource* source = SourceOf(key);
    if (source == nullptr) continue;
    steps.push_back({{std::string("SELECT ") + source->value + " FROM agent_graph." +
                          source->table + " WHERE " + source->key + " = $1",
                      {Value::Bytes(key)}},
                     [this, key](const Rows& rows) {
                       std::optional<std::string> value;
                       if (!rows.empty()) value = std::string(rows[0].Bytes(0));
                       reads_.Know(key, std::move(value));
                       return Status::Ok();
                     }});
  }
  return steps;
}

void RowDatabase::AddThreadSteps(const std::vector<const ThreadUse*>& threads,
                                 std::vector<Step>& steps) {
  std::vector<const ThreadUse*> creators;
  for (const ThreadUse* thread : threads) {
    if (thread->may_create) creators.push_back(thread);
  }
  const std::vector<std::string> new_keys = KeysOf(creators);
  made_leases_.insert(new_keys.begin(), new_keys.end());
  if (!new_keys.empty()) {
    steps.push_back({{"INSERT INTO agent_graph.lease (thread) SELECT unnest($1::bytea[]) "
                      "ON CONFLICT DO NOTHING",
                      {Value::BytesArray(new_keys)}},
                     {}});
    AddNumberStep(new_keys.size(), steps);
  }
  const std::vector<std::string> keys = KeysOf(threads);
  steps.push_back(
      {{"SELECT count(*) FROM (SELECT thread FROM agent_graph.lease WHERE thread = ANY($1) "
        "ORDER BY thread FOR UPDATE) AS locked",
        {Value::BytesArray(keys)}},
       {}});
  // Statements after the lock see what the holder before has committed.
  auto results = std::make_shared<std::vector<Rows>>();
  std::vector<Command> commands = SqlRowReads::ThreadCommands(keys);
  for (size_t i = 0; i < commands.size(); ++i) {
    const bool is_last = i + 1 == commands.size();
    steps.push_back({std::move(commands[i]), [this, keys, results, is_last](const Rows& rows) {
                       results->push_back(rows);
                       if (is_last) reads_.TakeThreads(keys, *results);
                       return Status::Ok();
                     }});
  }
}

namespace {

struct Suffixes {
  std::vector<std::string> threads;
  std::vector<std::string> suffixes;
};

}  // namespace

void RowDatabase::AddRowSteps(const std::vector<const ThreadUse*>& threads,
                              std::vector<Step>& steps) {
  Suffixes snapshots;
  Suffixes messages;
  Suffixes runs;
  const keys::ThreadKey nowhere;
  const size_t prefix = keys::Counters(nowhere).size();
  for (const ThreadUse* thread : threads) {
    const std::string key = keys::Thread(thread->thread_id);
    if (thread->reads_snapshot) {
      snapshots.threads.push_back(key);
      snapshots.suffixes.emplace_back();
    }
    for (const std::string& id : thread->message_ids) {
      messages.threads.push_back(key);
      messages.suffixes.push_back(keys::MessageId(nowhere, id).substr(prefix));
    }
    for (const std::string& id : thread->run_ids) {
      runs.threads.push_back(key);
      runs.suffixes.push_back(keys::Run(nowhere, id).substr(prefix));
    }
  }
  const auto add = [&](const Suffixes& wanted, Table kind) {
    if (wanted.threads.empty()) return;
    const std::string first(1, static_cast<char>(kind));
    const RowSource& source = *SourceOf(first);
    const std::string key = source.key;
    steps.push_back(
        {{"SELECT w.key, r." + std::string(source.value) +
              " FROM (SELECT $1::bytea || t.place || u.suffix AS key FROM "
              "unnest($2::bytea[], $3::bytea[]) AS u(thread, suffix) "
              "JOIN agent_graph.thread t ON t.key = u.thread) AS w LEFT JOIN agent_graph." +
              source.table + " r ON r." + key + " = w.key",
          {Value::Bytes(first), Value::BytesArray(wanted.threads),
           Value::BytesArray(wanted.suffixes)}},
         [this, kind](const Rows& rows) {
           for (size_t i = 0; i < rows.size(); ++i) {
             std::optional<std::string> value;
             if (!rows[i].IsNull(1)) value = std::string(rows[i].Bytes(1));
             if (value && kind == Table::kMessageId) {
               keys::Parser parser(*value, Table::kMessage);
               parser.Thread();
               value = pack::ToBytes(parser.Integer());
             }
             reads_.Know(std::string(rows[i].Bytes(0)), std::move(value));
           }
           return Status::Ok();
         }});
  };
  add(snapshots, Table::kSnapshot);
  add(messages, Table::kMessageId);
  add(runs, Table::kRun);
  add(runs, Table::kRunRequest);
}

void RowDatabase::AddNumberStep(size_t wanted, std::vector<Step>& steps) {
  std::vector<uint64_t>& numbers = numbers_[Counter::kThread];
  if (numbers.size() >= wanted) return;
  steps.push_back({NumbersCommand(Counter::kThread), [&numbers](const Rows& rows) {
                     TakeNumbers(rows, numbers);
                     return Status::Ok();
                   }});
}

std::optional<Result<uint64_t>> RowDatabase::TakeNumber(Counter counter) {
  std::vector<uint64_t>& numbers = numbers_[counter];
  if (numbers.empty()) {
    Result<std::vector<Rows>> results = Send({NumbersCommand(counter)});
    if (!results.ok()) return Result<uint64_t>(results.status());
    TakeNumbers(results->front(), numbers);
  }
  const uint64_t number = numbers.back();
  numbers.pop_back();
  if (counter == Counter::kThread) fresh_.insert(number);
  return Result<uint64_t>(number);
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
  const Borrowed borrowed(pool_);
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
