#include "state/postgres/rows/row_database.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "state/pack/fields.h"
#include "state/postgres/cluster/jobs.h"
#include "state/postgres/memories/memory_changes.h"
#include "state/postgres/rows/row_view.h"
#include "state/rows/keys.h"

namespace agent_graph::state::postgres {
namespace {

using keys::Table;

constexpr size_t kCacheBytesMax = 32 * 1024 * 1024;

// Readers hold no locks: between two reads of a view, the caller may take its time.
ConnectionOptions ReaderOptions(ConnectionOptions options) {
  options.idle_in_transaction_timeout = std::chrono::minutes(1);
  options.waits_for_disk = true;  // views begin with their isolation level, and commit nothing
  return options;
}

}  // namespace

RowDatabase::RowDatabase(const RowDatabaseOptions& options)
    : Database(options.identity.instance),
      identity_(options.identity),
      now_(options.now),
      status_(options.status),
      writer_(options.connection),
      reads_([this](const std::vector<Command>& commands) { return Send(commands); }),
      pool_(ReaderOptions(options.connection), options.readers, options.status),
      cache_(kCacheBytesMax) {}

Result<std::vector<Rows>> RowDatabase::Send(const std::vector<Command>& commands) const {
  AG_RETURN_IF_ERROR(failure_);
  const bool holds_first = assumes_ && !writer_.in_transaction();
  std::vector<Command> all;
  if (holds_first) {
    writer_.Begin(session_);
    all.push_back(HoldCommand());
    all.insert(all.end(), commands.begin(), commands.end());
  }
  Result<std::vector<Rows>> results = writer_.ExecuteAll(holds_first ? all : commands);
  if (!results.ok()) {
    failure_ = results.status();
    if (failure_.code() == StatusCode::kFenced) ++status_->fenced;
    is_refuted_ = IsRefuted();
  } else if (holds_first) {
    results->erase(results->begin());
  }
  return results;
}

Result<std::optional<std::string>> RowDatabase::Get(const std::string& key) const {
  if (std::optional<std::optional<std::string>> assumed = Assumed(key)) return *std::move(assumed);
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
  not_locked_.clear();
  made_leases_.clear();
  fresh_.clear();
  versions_.clear();
  messages_.clear();
  assumes_ = false;
  assumes_begin_ = false;
  assumed_.clear();
  assumed_places_.clear();
  assumed_absent_.clear();
}

// Lease rows that Prepare inserted for threads that the batch then did not create.
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

Status RowDatabase::WriteRows(RowBatch& batch, WriteSync) {
  if (!failure_.ok()) return EndFailedBatch();
  const auto& rows = static_cast<const SqlRowBatch&>(batch);
  const std::set<std::string> changed = ChangedThreads(rows);
  AG_ASSIGN_OR_RETURN(std::vector<Command> commands, WriteCommands(rows));
  if (const auto uncounted = UncountedThreads(rows, changed); !uncounted.empty()) {
    commands.push_back({"UPDATE agent_graph.lease SET version = version + 1 WHERE thread = ANY($1)",
                        {Value::BytesArray(uncounted)}});
  }
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
  const auto began = MonotonicClock::now();
  if (!writer_.in_transaction()) {
    writer_.Begin(assumes_ ? session_ : 0);
    commands.insert(commands.begin(), HoldCommand());
  }
  failure_ = writer_.Commit(commands).status();
  if (!failure_.ok()) {
    if (failure_.code() == StatusCode::kFenced) ++status_->fenced;
    is_refuted_ = IsRefuted();
    return EndFailedBatch();
  }
  status_->commits.Add(static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(MonotonicClock::now() - began)
          .count()));
  Remember(rows, changed);
  Forget();
  return Status::Ok();
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

Result<bool> RowDatabase::HoldInstance(const std::string& instance) {
  AG_ASSIGN_OR_RETURN(
      const std::vector<Rows> results,
      Send({{"SELECT 1 FROM agent_graph.instance WHERE id = $1 AND NOT dead FOR KEY SHARE",
             {Value::Uuid(instance)}}}));
  return !results[0].empty();
}

Result<bool> RowDatabase::ClaimWork(const std::string& name, std::chrono::seconds pause) {
  if (!writer_.in_transaction()) AG_RETURN_IF_ERROR(Prepare({}));
  AG_ASSIGN_OR_RETURN(
      const std::vector<Rows> results,
      Send({{"INSERT INTO agent_graph.job (name) VALUES ($1) ON CONFLICT DO NOTHING",
             {Value::Text(name)}},
            {"UPDATE agent_graph.job SET due = now() + $2 * interval '1 second' WHERE name = "
             "(SELECT name FROM agent_graph.job WHERE name = $1 AND due <= now() "
             "FOR UPDATE SKIP LOCKED) RETURNING name",
             {Value::Text(name), Value::Integer(static_cast<int32_t>(pause.count()))}}}));
  return !results[1].empty();
}

Result<std::optional<int64_t>> RowDatabase::ClaimJob(const std::string& name) {
  if (!writer_.in_transaction()) AG_RETURN_IF_ERROR(Prepare({}));
  AG_ASSIGN_OR_RETURN(const std::vector<Rows> results,
                      Send(ClaimCommands(name, identity_.instance)));
  return NumberOfClaim(results);
}

Status RowDatabase::ReleaseJob(const std::string& name, int64_t claim) {
  if (!writer_.in_transaction()) AG_RETURN_IF_ERROR(Prepare({}));
  return Send({FinishCommand({name, identity_.instance, claim}, std::chrono::seconds(0))}).status();
}

Result<std::vector<std::string>> RowDatabase::ThreadsHeldBy(const std::string& instance,
                                                            size_t limit) {
  AG_ASSIGN_OR_RETURN(const std::vector<Rows> results,
                      Send({{"SELECT thread FROM agent_graph.lease WHERE lease_key IS NOT NULL AND "
                             "instance = $1 ORDER BY thread LIMIT $2",
                             {Value::Uuid(instance), Value::Number(limit)}}}));
  std::vector<std::string> threads;
  threads.reserve(results[0].size());
  for (size_t i = 0; i < results[0].size(); ++i) {
    const std::string key(results[0][i].Bytes(0));
    threads.push_back(keys::Parser(key, Table::kThread).Text());
  }
  return threads;
}

Result<std::vector<RowDatabase::AcceptedRun>> RowDatabase::AcceptedRunsOf(
    const std::string& instance, uint64_t first, size_t limit) {
  AG_ASSIGN_OR_RETURN(
      const std::vector<Rows> results,
      Send({{"SELECT key, run_order, octet_length(value) FROM "
             "agent_graph.run_request WHERE instance = $1 AND run_order >= $2 "
             "ORDER BY run_order LIMIT $3",
             {Value::Uuid(instance), Value::Number(first), Value::Number(limit)}}}));
  const Rows& requests = results[0];
  std::vector<AcceptedRun> runs(requests.size());
  std::vector<int64_t> numbers(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const std::string key(requests[i].Bytes(0));
    keys::Parser parser(key, Table::kRunRequest);
    numbers[i] = static_cast<int64_t>(parser.Thread().number);
    runs[i].run_id = parser.Text();
    runs[i].order = requests[i].Number(1);
    runs[i].request_bytes = static_cast<size_t>(requests[i].Integer(2));
  }
  if (runs.empty()) return runs;
  // The key of a request has the number of its thread, but not the thread's id.
  AG_ASSIGN_OR_RETURN(const std::vector<Rows> threads,
                      Send({{"SELECT number, key FROM agent_graph.thread WHERE number = ANY($1)",
                             {Value::BigintArray(numbers)}}}));
  std::unordered_map<int64_t, std::string> ids;
  for (size_t i = 0; i < threads[0].size(); ++i) {
    const std::string key(threads[0][i].Bytes(1));
    ids.emplace(threads[0][i].Bigint(0), keys::Parser(key, Table::kThread).Text());
  }
  for (size_t i = 0; i < runs.size(); ++i) runs[i].thread_id = ids[numbers[i]];
  return runs;
}

Result<std::vector<RowDatabase::LeaseState>> RowDatabase::LeaseStates(
    const std::vector<std::string>& thread_ids) const {
  std::vector<std::string> keys;
  keys.reserve(thread_ids.size());
  for (const std::string& thread_id : thread_ids) keys.push_back(keys::Thread(thread_id));
  const BorrowedConnection borrowed(pool_);
  AG_ASSIGN_OR_RETURN(Connection* const connection, borrowed.get());
  // The row changes with each append, and with the beginning and the end of a run.
  AG_ASSIGN_OR_RETURN(
      const Rows rows,
      connection->Execute({"SELECT l.thread, l.xmin::text || '/' || l.ctid::text, l.instance, "
                           "l.lease_key IS NOT NULL FROM agent_graph.lease l "
                           "WHERE l.thread = ANY($1)",
                           {Value::BytesArray(keys)}}));
  std::unordered_map<std::string, LeaseState> found;
  for (size_t i = 0; i < rows.size(); ++i) {
    LeaseState& state = found[std::string(rows[i].Bytes(0))];
    state.version = rows[i].Text(1);
    if (rows[i].Bool(3) && !rows[i].IsNull(2)) state.instance = rows[i].Uuid(2);
  }
  std::vector<LeaseState> states;
  states.reserve(keys.size());
  for (const std::string& key : keys) states.push_back(found[key]);
  return states;
}

Status RowDatabase::EndBatch() {
  if (!failure_.ok()) return EndFailedBatch();
  const bool has_to_check = assumes_ && !writer_.in_transaction();
  if (!notices_.empty() || has_to_check) return WriteRows(*NewBatch(), WriteSync::kNow);
  if (writer_.in_transaction()) writer_.Rollback();
  Remember(SqlRowBatch(), {});
  Forget();
  return Status::Ok();
}

void RowDatabase::StopWaiting() {
  writer_.Interrupt();
  pool_.Stop();
}

Result<BackupReport> RowDatabase::BackUp(const std::string&, const std::atomic<bool>*) const {
  return Status(
      StatusCode::kNotConfigured,
      "the state is in PostgreSQL: back the database up with its own tools, such as pg_dump "
      "(docs/scale-out.md)");
}

}  // namespace agent_graph::state::postgres
