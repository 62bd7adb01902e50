// RowDatabase: what a batch locks and reads before it is executed.
#include <algorithm>
#include <utility>

#include "state/pack/fields.h"
#include "state/postgres/database/stable_hash.h"
#include "state/postgres/rows/row_database.h"
#include "state/rows/keys.h"

namespace agent_graph::state::postgres {
namespace {

using keys::Table;

constexpr size_t kNumbersAtOnce = 64;
// A batch reads at most this many messages and bytes of snapshot for a run that begins. A larger
// state is read when the run has its lease.
constexpr size_t kStateMessagesMax = 64;
constexpr size_t kStateBytesMax = ThreadCache::kThreadBytesMax / 4;
// Attempts to begin a batch that waits too long for another host's transaction, or deadlocks with
// it.
constexpr int kPrepareAttempts = 4;
// Attempts to lock threads that other hosts delete and make at the same time.
constexpr int kLockAttempts = 4;

std::vector<std::string> KeysOf(const std::vector<const ThreadUse*>& threads) {
  std::vector<std::string> keys;
  keys.reserve(threads.size());
  for (const ThreadUse* thread : threads) keys.push_back(keys::Thread(thread->thread_id));
  std::ranges::sort(keys);
  return keys;
}

// The number of advisory locks of rows that belong to no thread.
int64_t LockOf(std::string_view key) {
  return static_cast<int64_t>(StableHash(key));
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
  // Memories are listed by their numbers, the newest first. Numbers that a host keeps for later
  // would put them between those of other hosts.
  const size_t count = counter == Counter::kMemory ? 1 : kNumbersAtOnce;
  return {std::string("SELECT nextval('") + SequenceOf(counter) + "') FROM generate_series(1, $1)",
          {Value::Number(count)}};
}

void TakeNumbers(const Rows& rows, std::vector<uint64_t>& numbers) {
  // The smallest number is taken first.
  for (size_t i = rows.size(); i > 0; --i) numbers.insert(numbers.begin(), rows[i - 1].Number(0));
  std::ranges::sort(numbers, std::greater());
}

// The value of a row that has a key and a value; nullopt: the database has no row of this key.
std::optional<std::string> ValueIn(const Row& row) {
  if (row.IsNull(1)) return std::nullopt;
  return std::string(row.Bytes(1));
}

}  // namespace

Status RowDatabase::KnowRows(const Rows& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    reads_.Know(std::string(rows[i].Bytes(0)), ValueIn(rows[i]));
  }
  return Status::Ok();
}

RowDatabase::Step RowDatabase::FenceStep() const {
  std::vector<Value> values = SettingsOf(writer_.options());
  values.insert(values.end(),
                {Value::Uuid(identity_.instance), Value::Number(identity_.incarnation)});
  return {{std::string("SELECT ") + kTransactionSettings +
               " FROM agent_graph.instance WHERE id = $5 AND incarnation = $6 AND NOT dead "
               "FOR KEY SHARE",
           std::move(values)},
          [this](const Rows& rows) {
            if (!rows.empty()) return Status::Ok();
            status_->fenced.fetch_add(1, std::memory_order_relaxed);
            return Status(StatusCode::kFenced, "this host's instance was declared dead");
          }};
}

Status RowDatabase::Prepare(const BatchUse& use) {
  // Without a transaction, WriteRows begins one.
  if (use.threads.empty() && use.keys.empty()) return failure_;
  const bool begins = !writer_.in_transaction() && !assumes_;
  for (int attempt = 1;; ++attempt) {
    const Status prepared = PrepareOnce(use);
    // Only a call that began the transaction may repeat it: the store has decided nothing yet.
    const bool may_repeat = begins && MayBeRepeated(writer_.failure().kind);
    if (prepared.ok() || !may_repeat || attempt == kPrepareAttempts) return prepared;
    writer_.Rollback();
    failure_ = Status::Ok();
  }
}

Status RowDatabase::OpenSession() {
  AG_RETURN_IF_ERROR(writer_.Open());
  if (session_ == writer_.sessions()) return Status::Ok();
  session_ = writer_.sessions();
  cache_.Clear();
  numbers_.clear();
  return Status::Ok();
}

Status RowDatabase::PrepareOnce(const BatchUse& use) {
  std::vector<Step> steps;
  if (!writer_.in_transaction() && assumes_) {
    writer_.Begin(session_);
    steps.push_back({HoldCommand(), {}});
  } else if (!writer_.in_transaction()) {
    Forget();
    if (failure_.ok()) failure_ = OpenSession();
    writer_.Begin(session_);
    steps.push_back(FenceStep());
  }
  for (Step& step : StepsOf(use)) steps.push_back(std::move(step));
  if (steps.empty()) return Status::Ok();
  AG_RETURN_IF_ERROR(Run(std::move(steps)));
  return not_locked_.empty() ? Status::Ok() : LockAgain(use);
}

// A host that deletes a thread also deletes its lease row. Those that wait for this row meanwhile
// have locked nothing, so they make it again: without a lock, each would make the thread for
// itself.
Status RowDatabase::LockAgain(BatchUse use) {
  for (int attempt = 1; !not_locked_.empty(); ++attempt) {
    if (attempt == kLockAttempts) {
      failure_ = StatusOfFailure({FailureKind::kRetry}, "lease rows were deleted again and again");
      return failure_;
    }
    for (ThreadUse& thread : use.threads) {
      const std::string key = keys::Thread(thread.thread_id);
      locked_.erase(key);
      thread.may_create = thread.may_create || not_locked_.contains(key);
    }
    for (const std::string& key : use.keys) locked_.erase(key);
    not_locked_.clear();
    AG_RETURN_IF_ERROR(Run(StepsOf(use)));
  }
  return Status::Ok();
}

Status RowDatabase::Run(std::vector<Step> steps) {
  std::vector<Command> commands;
  commands.reserve(steps.size());
  for (const Step& step : steps) commands.push_back(step.command);
  AG_ASSIGN_OR_RETURN(const std::vector<Rows> results, Send(commands));
  // If threads are not locked, everything is read again.
  for (size_t i = 0; i < steps.size() && failure_.ok() && not_locked_.empty(); ++i) {
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
  all.reserve(use.threads.size());
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

RowDatabase::Step RowDatabase::LockStep(const std::vector<std::string>& keys,
                                        const std::vector<std::string>& begun) {
  return {{"SELECT thread, version FROM agent_graph.lease WHERE thread = ANY($1) "
           "ORDER BY thread FOR UPDATE",
           {Value::BytesArray(keys)}},
          [this, begun](const Rows& rows) {
            for (size_t i = 0; i < rows.size(); ++i) {
              std::string key(rows[i].Bytes(0));
              const int64_t version = rows[i].Bigint(1);
              const CachedThread* const known = cache_.Find(key);
              if (known != nullptr && std::ranges::binary_search(begun, key)) {
                NoteBegin(known->version == version);
              }
              versions_.insert_or_assign(std::move(key), version);
            }
            return Status::Ok();
          }};
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
  steps.push_back(LockStep(keys, new_keys));
  // Statements after the lock see what the holder before has committed.
  auto results = std::make_shared<std::vector<Rows>>();
  std::vector<Command> commands = SqlRowReads::ThreadCommands(keys);
  for (size_t i = 0; i < commands.size(); ++i) {
    const bool is_last = i + 1 == commands.size();
    steps.push_back(
        {std::move(commands[i]), [this, keys, new_keys, results, is_last](const Rows& rows) {
           results->push_back(rows);
           if (!is_last) return Status::Ok();
           not_locked_ = NotLocked(new_keys, results->front());
           if (not_locked_.empty()) reads_.TakeThreads(keys, *results);
           return Status::Ok();
         }});
  }
  // The end of a run looks at the run before it.
  steps.push_back({{"SELECT t.last_run, r.value FROM agent_graph.thread t "
                    "LEFT JOIN agent_graph.run r ON r.key = t.last_run "
                    "WHERE t.key = ANY($1) AND t.last_run IS NOT NULL",
                    {Value::BytesArray(keys)}},
                   [this](const Rows& rows) { return KnowRows(rows); }});
}

std::set<std::string> RowDatabase::NotLocked(const std::vector<std::string>& created,
                                             const Rows& threads) const {
  std::set<std::string> keys;
  const auto add = [&](std::string key) {
    if (!versions_.contains(key)) keys.insert(std::move(key));
  };
  for (const std::string& key : created) add(key);
  for (size_t i = 0; i < threads.size(); ++i) add(std::string(threads[i].Bytes(0)));
  return keys;
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
    for (const auto* ids : {&thread->message_ids, &thread->new_message_ids}) {
      for (const std::string& id : *ids) {
        messages.threads.push_back(key);
        messages.suffixes.push_back(keys::MessageId(nowhere, id).substr(prefix));
      }
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
             std::optional<std::string> value = ValueIn(rows[i]);
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
  AddStateSteps(threads, steps);
  add(messages, Table::kMessageId);
  add(runs, Table::kRun);
  add(runs, Table::kRunRequest);
}

void RowDatabase::AddStateSteps(const std::vector<const ThreadUse*>& threads,
                                std::vector<Step>& steps) {
  std::vector<std::string> keys;
  for (const ThreadUse* thread : threads) {
    if (thread->reads_state) keys.push_back(keys::Thread(thread->thread_id));
  }
  if (keys.empty()) return;
  const std::string snapshot(1, static_cast<char>(Table::kSnapshot));
  steps.push_back(
      {{"SELECT $2::bytea || t.place, s.value FROM agent_graph.thread t LEFT JOIN "
        "agent_graph.snapshot s ON s.key = $2::bytea || t.place "
        "WHERE t.key = ANY($1) AND coalesce(octet_length(s.value), 0) <= $3",
        {Value::BytesArray(keys), Value::Bytes(snapshot), Value::Number(kStateBytesMax)}},
       [this](const Rows& rows) { return KnowRows(rows); }});
  const std::string message(1, static_cast<char>(Table::kMessage));
  // The newest messages, up to a number and a size.
  steps.push_back(
      {{"SELECT t.key, m.key, m.value FROM agent_graph.thread t CROSS JOIN LATERAL "
        "(SELECT key, value, sum(octet_length(value)) OVER (ORDER BY key DESC) AS size FROM "
        "(SELECT key, value FROM agent_graph.message WHERE key > $2::bytea || t.place AND "
        "key < $2::bytea || t.place || '\\xffffffffffffffffff'::bytea "
        "ORDER BY key DESC LIMIT $3) AS newest) AS m "
        "WHERE t.key = ANY($1) AND m.size <= $4",
        {Value::BytesArray(keys), Value::Bytes(message), Value::Number(kStateMessagesMax),
         Value::Number(kStateBytesMax)}},
       [this](const Rows& rows) {
         for (size_t i = 0; i < rows.size(); ++i) {
           std::string key(rows[i].Bytes(1));
           reads_.Know(key, std::string(rows[i].Bytes(2)));
           std::string& first = messages_[std::string(rows[i].Bytes(0))];
           if (first.empty() || key < first) first = std::move(key);
         }
         return Status::Ok();
       }});
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

}  // namespace agent_graph::state::postgres
