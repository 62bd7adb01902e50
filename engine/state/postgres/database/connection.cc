// Connection: sessions and transactions. The exchange of statements is in connection_exchange.cc.
#include "state/postgres/database/connection.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/ids.h"
#include "base/text.h"

namespace agent_graph::state::postgres {
namespace {

constexpr int kOldestVersion = 140000;
constexpr int kRetriesMax = 3;
constexpr size_t kErrorBytesMax = 500;

// Parameters of each session, unless the URL has its own.
struct DefaultParameter {
  const char* name;
  const char* value;
};
constexpr DefaultParameter kDefaultParameters[] = {
    {.name = "connect_timeout", .value = "2"},  // seconds, for each host
    {.name = "tcp_user_timeout", .value = "2000"},
    {.name = "keepalives_idle", .value = "5"},
    {.name = "keepalives_interval", .value = "1"},
    {.name = "keepalives_count", .value = "5"},
    {.name = "target_session_attrs", .value = "read-write"},
    // libpq would look for Kerberos tickets of the user first.
    {.name = "gssencmode", .value = "disable"},
};

std::string Milliseconds(std::chrono::milliseconds time) {
  return std::to_string(time.count());
}

// The settings of the session, and what must be true of the server. No session turns
// synchronous_commit off: another one that gets its server process would inherit it.
Command SessionStatement(const ConnectionOptions& options) {
  std::vector<Value> settings = SettingsOf(options);
  settings[0] = Value::Text("on");
  return {
      "SELECT set_config('synchronous_commit', $1, false), set_config('lock_timeout', $2, false), "
      "set_config('statement_timeout', $3, false), "
      "set_config('idle_in_transaction_session_timeout', $4, false), "
      "current_setting('server_encoding')",
      std::move(settings)};
}

void IgnoreNotice(void*, const PGresult*) {}

}  // namespace

std::vector<Value> SettingsOf(const ConnectionOptions& options) {
  return {Value::Text(options.waits_for_disk ? "on" : "off"),
          Value::Text(Milliseconds(options.lock_timeout)),
          Value::Text(Milliseconds(options.statement_timeout)),
          Value::Text(Milliseconds(options.idle_in_transaction_timeout))};
}

Connection::Connection(ConnectionOptions options)
    : options_(std::move(options)), interrupt_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Connection::~Connection() = default;

void Connection::Interrupt() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(interrupt_.get(), &one, sizeof(one));
}

bool Connection::WaitInterruptibly(std::chrono::milliseconds time) {
  pollfd interrupt{interrupt_.get(), POLLIN, 0};
  return poll(&interrupt, 1, static_cast<int>(time.count())) == 0;
}

bool Connection::interrupted() const {
  pollfd interrupt{interrupt_.get(), POLLIN, 0};
  return poll(&interrupt, 1, 0) != 0;
}

void Connection::Close() {
  connection_.reset();
  prepared_.clear();
  notifications_.clear();
  if (transaction_ == TransactionState::kOpen) transaction_ = TransactionState::kFailed;
}

Status Connection::Fail(FailureKind kind, std::string detail) {
  failure_ = {kind, {}};
  return StatusOfFailure(failure_, std::move(detail));
}

Status Connection::Lose(FailureKind kind, std::string detail) {
  Close();
  return Fail(kind, std::move(detail));
}

void Connection::DropEndedSession() {
  for (;;) {
    pollfd socket{libpq_->PQsocket(connection_.get()), POLLIN, 0};
    if (poll(&socket, 1, 0) == 0) return;
    if (libpq_->PQconsumeInput(connection_.get()) != 1) return Close();
    libpq_->PQisBusy(connection_.get());  // takes notices and changed settings
    KeepNotifications();
    if (libpq_->PQstatus(connection_.get()) != CONNECTION_OK) return Close();
  }
}

Status Connection::Open() {
  if (is_open()) DropEndedSession();
  if (is_open()) return Status::Ok();
  if (interrupted()) return Fail(FailureKind::kInterrupted, "interrupted");
  const auto now = MonotonicClock::now();
  if (now < not_before_) {
    return Fail(FailureKind::kNotConnected, "waiting for the next attempt to connect");
  }
  const Status connected = Connect();
  if (connected.ok()) {
    backoff_ = std::chrono::milliseconds(0);
    not_before_ = {};
    ++sessions_;
    ++options_.counters->sessions;
    return connected;
  }
  ++options_.counters->failed_attempts;
  Close();
  backoff_ = std::clamp(backoff_ * 2, options_.backoff_min, options_.backoff_max);
  // Jitter, so that many hosts do not come back at the same moment.
  const auto jitter =
      static_cast<int64_t>(RandomUint64() % static_cast<uint64_t>(backoff_.count() / 2 + 1));
  not_before_ = MonotonicClock::now() + backoff_ - std::chrono::milliseconds(jitter);
  return connected;
}

Status Connection::OpenUntil(Deadline deadline) {
  for (;;) {
    const Status opened = Open();
    if (opened.code() != StatusCode::kUnavailable) return opened;
    const auto now = MonotonicClock::now();
    if (now >= deadline) return opened;
    const auto pause = std::min(not_before_, deadline) - now;
    WaitInterruptibly(std::chrono::ceil<std::chrono::milliseconds>(
        std::max(pause, Duration(std::chrono::milliseconds(1)))));
  }
}

Status Connection::Connect() {
  failure_ = {FailureKind::kNotConnected, {}};
  AG_ASSIGN_OR_RETURN(libpq_, LoadLibpq());
  if (!url_) {
    AG_ASSIGN_OR_RETURN(url_, ParseConnectionUrl(options_.url));
  }
  std::vector<const char*> names;
  std::vector<const char*> values;
  const auto add = [&](const char* name, const char* value) {
    names.push_back(name);
    values.push_back(value);
  };
  for (const DefaultParameter& parameter : kDefaultParameters) {
    if (url_->Find(parameter.name).empty()) add(parameter.name, parameter.value);
  }
  for (const auto& [name, value] : url_->parameters) add(name.c_str(), value.c_str());
  if (url_->Find("application_name").empty()) {
    add("application_name", options_.application_name.c_str());
  }
  add("client_encoding", "UTF8");
  add(nullptr, nullptr);
  connection_ = std::unique_ptr<PGconn, CloseSession>(
      libpq_->PQconnectdbParams(names.data(), values.data(), 0), CloseSession{libpq_});
  if (connection_ == nullptr) return Fail(FailureKind::kNotConnected, "no memory");
  if (libpq_->PQstatus(connection_.get()) != CONNECTION_OK) {
    return ConnectFailure(
        OneLine(url_->Redact(libpq_->PQerrorMessage(connection_.get())), kErrorBytesMax));
  }
  return PrepareSession();
}

Status Connection::PrepareSession() {
  libpq_->PQsetNoticeReceiver(connection_.get(), IgnoreNotice, nullptr);
  server_version_ = libpq_->PQserverVersion(connection_.get());
  if (server_version_ < kOldestVersion) {
    return Fail(FailureKind::kNotConnected,
                "PostgreSQL 14 or newer is needed, the server has version " +
                    std::to_string(server_version_ / 10000));
  }
  if (libpq_->PQsetnonblocking(connection_.get(), 1) != 0 ||
      libpq_->PQenterPipelineMode(connection_.get()) != 1) {
    return Fail(FailureKind::kNotConnected, "the connection has no pipeline mode");
  }
  AG_ASSIGN_OR_RETURN(const Answers answers, Exchange({SessionStatement(options_)}, false));
  if (!answers[0].ok()) return answers[0].status();
  const std::string_view encoding = (*answers[0])[0].Text(4);
  if (encoding != "UTF8") {
    return Fail(FailureKind::kNotConnected, "the database's encoding is " + std::string(encoding) +
                                                ": create it with ENCODING 'UTF8'");
  }
  return Status::Ok();
}

Result<Rows> Connection::Execute(const Command& command) {
  AG_ASSIGN_OR_RETURN(std::vector<Rows> rows, ExecuteAll({command}));
  return std::move(rows[0]);
}

Result<std::vector<Rows>> Connection::ExecuteInOneTransaction(
    const std::vector<Command>& commands) {
  AG_ASSIGN_OR_RETURN(Answers answers, Exchange(commands, false));
  std::vector<Rows> rows;
  rows.reserve(answers.size());
  for (Result<Rows>& answer : answers) {
    if (!answer.ok()) return answer.status();
    rows.push_back(*std::move(answer));
  }
  return rows;
}

Result<std::vector<Rows>> Connection::ExecuteFirst(bool begin,
                                                   const std::vector<Command>& commands) {
  std::vector<Command> all;
  if (begin) all.push_back({"BEGIN"});
  if (!options_.waits_for_disk) {
    all.push_back({"SELECT set_config('synchronous_commit', 'off', true)"});
  }
  const auto added = static_cast<ptrdiff_t>(all.size());
  if (added == 0) return ExecuteInOneTransaction(commands);
  all.insert(all.end(), commands.begin(), commands.end());
  Result<std::vector<Rows>> rows = ExecuteInOneTransaction(all);
  if (rows.ok()) rows->erase(rows->begin(), rows->begin() + added);
  return rows;
}

Result<std::vector<Rows>> Connection::ExecuteAll(const std::vector<Command>& commands) {
  if (transaction_ == TransactionState::kNone) {
    AG_RETURN_IF_ERROR(Open());
    for (int attempt = 0;; ++attempt) {
      Result<std::vector<Rows>> rows = ExecuteFirst(/*begin=*/false, commands);
      const bool again =
          failure_.kind == FailureKind::kRetry || failure_.kind == FailureKind::kStalePlan;
      if (rows.ok() || !again || attempt == kRetriesMax) return rows;
      ++options_.counters->retries;
    }
  }
  AG_CHECK(transaction_ != TransactionState::kFailed, "a failed transaction executes nothing");
  if (transaction_ == TransactionState::kOpen) {
    Result<std::vector<Rows>> rows = ExecuteInOneTransaction(commands);
    if (!rows.ok()) transaction_ = TransactionState::kFailed;
    return rows;
  }
  const Status opened = OpenToBegin();
  Result<std::vector<Rows>> rows = opened.ok() ? ExecuteFirst(/*begin=*/true, commands) : opened;
  transaction_ = rows.ok() ? TransactionState::kOpen : TransactionState::kFailed;
  return rows;
}

Result<std::vector<Result<Rows>>> Connection::ExecuteEach(const std::vector<Command>& commands) {
  AG_CHECK(transaction_ == TransactionState::kNone, "each command is a transaction of its own");
  AG_RETURN_IF_ERROR(Open());
  return Exchange(commands, true);
}

void Connection::Begin(uint64_t session) {
  AG_CHECK(transaction_ == TransactionState::kNone, "transactions are not nested");
  transaction_ = TransactionState::kToBegin;
  wanted_session_ = session;
}

Status Connection::OpenToBegin() {
  AG_RETURN_IF_ERROR(Open());
  if (wanted_session_ == 0 || wanted_session_ == sessions_) return Status::Ok();
  return Fail(FailureKind::kNotConnected, "the session of the transaction has ended");
}

Result<std::vector<Rows>> Connection::Commit(const std::vector<Command>& commands) {
  AG_CHECK(in_transaction(), "only a transaction is committed");
  AG_CHECK(transaction_ != TransactionState::kFailed, "a failed transaction is not committed");
  const bool begun = transaction_ == TransactionState::kOpen;
  // Without a BEGIN before, the commands are one transaction by themselves.
  if (!begun) {
    transaction_ = TransactionState::kNone;
    if (commands.empty()) return std::vector<Rows>();
    AG_RETURN_IF_ERROR(OpenToBegin());
    return ExecuteFirst(/*begin=*/false, commands);
  }
  std::vector<Command> with_commit = commands;
  with_commit.push_back({"COMMIT"});
  Result<std::vector<Rows>> rows = ExecuteInOneTransaction(with_commit);
  transaction_ = rows.ok() ? TransactionState::kNone : TransactionState::kFailed;
  if (rows.ok()) {
    rows->pop_back();
    return rows;
  }
  const Failure failure = failure_;
  Rollback();
  failure_ = failure;
  return rows;
}

void Connection::Rollback() {
  AG_CHECK(in_transaction(), "only a transaction is rolled back");
  const bool begun = transaction_ != TransactionState::kToBegin;
  transaction_ = TransactionState::kNone;
  if (!begun || !is_open()) return;
  // If the ROLLBACK fails, the end of the session ends the transaction.
  if (!ExecuteInOneTransaction({{"ROLLBACK"}}).ok()) Close();
}

}  // namespace agent_graph::state::postgres
