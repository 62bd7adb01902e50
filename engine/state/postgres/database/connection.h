// One session with a PostgreSQL server.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/status.h"
#include "state/database_status.h"
#include "state/postgres/database/failure.h"
#include "state/postgres/database/libpq.h"
#include "state/postgres/database/rows.h"
#include "state/postgres/database/url.h"
#include "state/postgres/database/value.h"

namespace agent_graph::state::postgres {

using state::ConnectionCounters;

struct ConnectionOptions {
  std::string url;
  std::string application_name = "agent-graph";  // in pg_stat_activity
  // On the server; zero: no limit.
  std::chrono::milliseconds statement_timeout{5'000};
  std::chrono::milliseconds lock_timeout{2'000};
  std::chrono::milliseconds idle_in_transaction_timeout{2'000};
  // False: commits need not wait for a disk or for a standby, except those of ExecuteEach and
  // RunScript. Set for each transaction, because behind a pooler sessions may share a server
  // process.
  bool waits_for_disk = true;
  // A server that answers nothing for this long is given up.
  std::chrono::milliseconds answer_timeout{10'000};
  // Pauses between attempts to connect.
  std::chrono::milliseconds backoff_min{50};
  std::chrono::milliseconds backoff_max{2'000};
  std::shared_ptr<ConnectionCounters> counters = std::make_shared<ConnectionCounters>();
};

// Gives a transaction the settings of its connection, as a part of a SELECT with four parameters. A
// session has them too, but behind a pooler each transaction may be executed by another server
// process.
inline constexpr char kTransactionSettings[] =
    "set_config('synchronous_commit', $1, true), set_config('lock_timeout', $2, true), "
    "set_config('statement_timeout', $3, true), "
    "set_config('idle_in_transaction_session_timeout', $4, true)";
std::vector<Value> SettingsOf(const ConnectionOptions& options);

struct CloseSession {
  const Libpq* libpq = nullptr;
  void operator()(PGconn* connection) const { libpq->PQfinish(connection); }
};

// For one thread, whose calls block; only Interrupt may be called by others. A call on a closed
// connection connects first, unless the last attempt failed a moment ago: then it fails at once.
//
// Errors: kUnavailable (no connection, no answer in time, lock or statement timeout, no space),
// kConflict (constraint), kInvalidArgument (a value that cannot be stored), kCancelled (Interrupt),
// kInternal (a statement that the server does not accept). failure() has the details.
class Connection {
 public:
  explicit Connection(ConnectionOptions options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Connects now if the connection is closed; takes up to two seconds for each host of the URL.
  Status Open();
  // Repeats Open, with pauses, until it succeeds, the deadline passes or Interrupt is called. Does
  // not repeat what the operator must correct: kNotConfigured, kInvalidArgument.
  Status OpenUntil(Deadline deadline);
  bool is_open() const { return connection_ != nullptr; }
  void Close();
  // Thread-safe. The current call and all later ones fail with kCancelled.
  void Interrupt();

  // One round trip and one transaction, unless Begin has opened one. Retries after a serialization
  // failure or a deadlock, outside of Begin.
  Result<Rows> Execute(const Command& command);
  Result<std::vector<Rows>> ExecuteAll(const std::vector<Command>& commands);
  // One round trip; each command is a transaction of its own. The error of the result: no command
  // has an answer.
  Result<std::vector<Result<Rows>>> ExecuteEach(const std::vector<Command>& commands);

  // Opens a transaction together with the next Execute. Until Commit, each ExecuteAll is a round
  // trip in it. After an error only Rollback is possible; a Rollback without a connection does
  // nothing. `session`: fails if this session has ended, without connecting again; 0: any session.
  void Begin(uint64_t session = 0);
  // Executes the last commands and commits, in one round trip. If the failure is kLost the
  // transaction may have been committed.
  Result<std::vector<Rows>> Commit(const std::vector<Command>& commands = {});
  void Rollback();
  bool in_transaction() const { return transaction_ != TransactionState::kNone; }

  // Statements without parameters, separated by semicolons: one transaction, unless the script
  // has its own. For schema changes.
  Status RunScript(const std::string& script);

  // Waits until the server has sent something, `wake` is readable (-1: none) or the deadline
  // passes. Fails if the session has ended.
  Status AwaitInput(int wake, Deadline deadline);
  // The payloads of notifications that have arrived, oldest first. A session that listens has to
  // take them.
  std::vector<std::string> TakeNotifications();

  // The failure of the last call.
  const Failure& failure() const { return failure_; }
  // Increases with each session. Locks and settings of a session end with it.
  uint64_t sessions() const { return sessions_; }
  int server_version() const { return server_version_; }  // 150004
  const ConnectionOptions& options() const { return options_; }

 private:
  enum class TransactionState : uint8_t { kNone, kToBegin, kOpen, kFailed };
  // An answer that is still to come.
  struct Expected {
    enum class Kind : uint8_t { kPrepared, kRows, kSync };
    Kind kind = Kind::kRows;
    size_t command = 0;
  };
  using Answers = std::vector<Result<Rows>>;

  // Open, for a transaction that Begin has asked for.
  Status OpenToBegin();
  Status Connect();
  Status PrepareSession();
  // Closes a session that the server has ended since the last call.
  void DropEndedSession();
  Result<Answers> Exchange(const std::vector<Command>& commands, bool sync_each);
  void Count(size_t commands, Duration duration);
  Status Send(const std::vector<Command>& commands, bool sync_each,
              std::vector<Expected>& expected);
  bool SendOne(const Command& command, size_t index, std::vector<Expected>& expected);
  Status Receive(const std::vector<Command>& commands, const std::vector<Expected>& expected,
                 Answers& answers);
  Status TakeAnswer(const Expected& expected, const Command& command, Status& cause,
                    Answers& answers);
  // The next result, or null at the end of an answer.
  Result<PGresult*> NextResult();
  Status WaitForInput();
  // Moves notifications out of libpq, which would keep them for ever.
  void KeepNotifications();
  Status StatusOf(const PGresult* result);
  Status Lose(FailureKind kind, std::string detail);
  Status Fail(FailureKind kind, std::string detail);
  Result<std::vector<Rows>> ExecuteInOneTransaction(const std::vector<Command>& commands);
  // The same, for the first commands of a transaction. `begin`: more will follow.
  Result<std::vector<Rows>> ExecuteFirst(bool begin, const std::vector<Command>& commands);
  bool WaitInterruptibly(std::chrono::milliseconds time);
  bool interrupted() const;

  const ConnectionOptions options_;
  const FileDescriptor interrupt_;  // an eventfd that stays readable
  const Libpq* libpq_ = nullptr;
  std::optional<ConnectionUrl> url_;
  std::unique_ptr<PGconn, CloseSession> connection_;
  std::unordered_map<std::string, std::string> prepared_;  // names of statements, by their text
  uint64_t next_name_ = 0;
  TransactionState transaction_ = TransactionState::kNone;
  uint64_t wanted_session_ = 0;  // see Begin
  std::vector<std::string> notifications_;
  Failure failure_;
  uint64_t sessions_ = 0;
  int server_version_ = 0;
  std::chrono::milliseconds backoff_{0};
  Deadline not_before_{};  // earliest time of the next attempt to connect
  Deadline answer_by_{};
};

}  // namespace agent_graph::state::postgres
