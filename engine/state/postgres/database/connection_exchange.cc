// Connection: sends statements in pipeline mode and takes their answers.
#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::state::postgres {
namespace {

constexpr int kBinary = 1;
constexpr size_t kServerErrorBytesMax = 500;
// A session that does not take its notifications loses them. Such sessions exist: a pooler in
// transaction mode lets sessions share a server process, and with it what one of them listens to.
constexpr size_t kNotificationsMax = 10'000;

// A command's parameters as libpq takes them; valid as long as the command.
struct ParameterArrays {
  explicit ParameterArrays(const std::vector<Value>& values) {
    for (const Value& value : values) {
      types.push_back(value.type());
      texts.push_back(value.bytes() ? value.bytes()->data() : nullptr);
      lengths.push_back(value.bytes() ? static_cast<int>(value.bytes()->size()) : 0);
      formats.push_back(kBinary);
    }
  }
  int count() const { return static_cast<int>(types.size()); }

  std::vector<Oid> types;
  std::vector<const char*> texts;
  std::vector<int> lengths;
  std::vector<int> formats;
};

}  // namespace

Result<Connection::Answers> Connection::Exchange(const std::vector<Command>& commands,
                                                 bool sync_each) {
  AG_CHECK(!commands.empty(), "an exchange has commands");
  failure_ = {};
  if (interrupted()) return Lose(FailureKind::kInterrupted, "interrupted");
  for (const Command& command : commands) {
    if (!std::all_of(command.values.begin(), command.values.end(),
                     [](const Value& value) { return value.can_be_stored(); })) {
      return Fail(FailureKind::kData, "a parameter of: " + command.text);
    }
  }
  const auto began = MonotonicClock::now();
  answer_by_ = DeadlineAfter(options_.answer_timeout);
  std::vector<Expected> expected;
  Answers answers(commands.size(), Status(StatusCode::kInternal, "no answer"));
  Status exchanged = Send(commands, sync_each, expected);
  if (exchanged.ok()) exchanged = Receive(commands, expected, answers);
  Count(commands.size(), MonotonicClock::now() - began);
  if (!exchanged.ok()) return exchanged;
  return answers;
}

void Connection::Count(size_t commands, Duration duration) {
  ConnectionCounters& counters = *options_.counters;
  ++counters.round_trips;
  counters.commands += commands;
  if (failure_.kind == FailureKind::kTimeout) ++counters.timeouts;
  if (EndsSession(failure_.kind)) {
    ++counters.lost_sessions;
    return;
  }
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(duration);
  counters.durations.Add(static_cast<uint64_t>(micros.count()));
}

Status Connection::Send(const std::vector<Command>& commands, bool sync_each,
                        std::vector<Expected>& expected) {
  for (size_t i = 0; i < commands.size(); ++i) {
    const bool sync = sync_each || i + 1 == commands.size();
    if (!SendOne(commands[i], i, expected) ||
        (sync && libpq_->PQpipelineSync(connection_.get()) != 1)) {
      return Lose(FailureKind::kLost,
                  OneLine(libpq_->PQerrorMessage(connection_.get()), kServerErrorBytesMax));
    }
    if (sync) expected.push_back({Expected::Kind::kSync, i});
  }
  return Status::Ok();
}

bool Connection::SendOne(const Command& command, size_t index, std::vector<Expected>& expected) {
  PGconn* const connection = connection_.get();
  const ParameterArrays parameters(command.values);
  auto [place, is_new] = prepared_.try_emplace(command.text);
  if (is_new) {
    place->second = "ag" + std::to_string(++next_name_);
    if (libpq_->PQsendPrepare(connection, place->second.c_str(), command.text.c_str(),
                              parameters.count(), parameters.types.data()) != 1) {
      return false;
    }
    expected.push_back({Expected::Kind::kPrepared, index});
  }
  expected.push_back({Expected::Kind::kRows, index});
  return libpq_->PQsendQueryPrepared(connection, place->second.c_str(), parameters.count(),
                                     parameters.texts.data(), parameters.lengths.data(),
                                     parameters.formats.data(), kBinary) == 1;
}

Status Connection::Receive(const std::vector<Command>& commands,
                           const std::vector<Expected>& expected, Answers& answers) {
  // The error that has aborted the commands up to the next sync.
  Status cause;
  for (const Expected& next : expected) {
    AG_RETURN_IF_ERROR(TakeAnswer(next, commands[next.command], cause, answers));
  }
  if (EndsSession(failure_.kind)) Close();
  if (failure_.kind == FailureKind::kStalePlan) {
    // The outdated statements stay in the session; their names are not used again.
    prepared_.clear();
  }
  return Status::Ok();
}

Status Connection::TakeAnswer(const Expected& expected, const Command& command, Status& cause,
                              Answers& answers) {
  AG_ASSIGN_OR_RETURN(PGresult* const result, NextResult());
  if (result == nullptr) return Lose(FailureKind::kLost, "an answer is missing");
  Rows rows(*libpq_, result);
  const ExecStatusType status = libpq_->PQresultStatus(result);
  if (expected.kind == Expected::Kind::kSync) {
    cause = Status::Ok();
    if (status == PGRES_PIPELINE_SYNC) return Status::Ok();
    const Status failed = StatusOf(result);
    return Lose(FailureKind::kLost, failed.detail());
  }
  // Each answer but a sync ends with a null result.
  AG_ASSIGN_OR_RETURN(PGresult* const end, NextResult());
  if (end != nullptr) {
    libpq_->PQclear(end);
    return Lose(FailureKind::kLost, "an answer has two results");
  }
  Result<Rows>& answer = answers[expected.command];
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
    if (expected.kind == Expected::Kind::kRows) answer = std::move(rows);
    return Status::Ok();
  }
  if (expected.kind == Expected::Kind::kPrepared) prepared_.erase(command.text);
  if (status != PGRES_PIPELINE_ABORTED) cause = StatusOf(result);
  answer = cause;
  return Status::Ok();
}

Status Connection::StatusOf(const PGresult* result) {
  const char* const sqlstate = libpq_->PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* const message = libpq_->PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  std::string text = message != nullptr ? message : libpq_->PQerrorMessage(connection_.get());
  Failure failure;
  failure.sqlstate = sqlstate == nullptr ? "" : sqlstate;
  failure.kind = sqlstate == nullptr ? FailureKind::kLost : KindOfSqlState(sqlstate, text);
  // The first failure of a call counts, unless a later one ends the session.
  if (failure_.kind == FailureKind::kNone || EndsSession(failure.kind)) failure_ = failure;
  return StatusOfFailure(failure, OneLine(url_->Redact(std::move(text)), kServerErrorBytesMax));
}

Status Connection::WaitForInput() {
  PGconn* const connection = connection_.get();
  const int unsent = libpq_->PQflush(connection);
  const auto lost = [&] {
    return Lose(FailureKind::kLost,
                OneLine(url_->Redact(libpq_->PQerrorMessage(connection)), kServerErrorBytesMax));
  };
  if (unsent < 0) return lost();
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(answer_by_ - MonotonicClock::now());
  if (left.count() <= 0) {
    return Lose(FailureKind::kLost, "the server did not answer within " +
                                        std::to_string(options_.answer_timeout.count()) + " ms");
  }
  const short events = static_cast<short>(POLLIN | (unsent > 0 ? POLLOUT : 0));
  pollfd polled[] = {{libpq_->PQsocket(connection), events, 0}, {interrupt_.get(), POLLIN, 0}};
  poll(polled, 2, static_cast<int>(left.count()));
  if (polled[1].revents != 0) return Lose(FailureKind::kInterrupted, "interrupted");
  if ((polled[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 &&
      libpq_->PQconsumeInput(connection) != 1) {
    return lost();
  }
  return Status::Ok();
}

void Connection::KeepNotifications() {
  while (PGnotify* const notification = libpq_->PQnotifies(connection_.get())) {
    notifications_.emplace_back(notification->extra);
    libpq_->PQfreemem(notification);
  }
  if (notifications_.size() > kNotificationsMax) notifications_.clear();
}

std::vector<std::string> Connection::TakeNotifications() {
  return std::exchange(notifications_, {});
}

Status Connection::AwaitInput(int wake, Deadline deadline) {
  if (!is_open()) return Fail(FailureKind::kNotConnected, "the session has ended");
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - MonotonicClock::now());
  pollfd polled[] = {{libpq_->PQsocket(connection_.get()), POLLIN, 0},
                     {wake, POLLIN, 0},
                     {interrupt_.get(), POLLIN, 0}};
  if (left.count() > 0) poll(polled, 3, static_cast<int>(left.count()));
  if (interrupted()) return Lose(FailureKind::kInterrupted, "interrupted");
  DropEndedSession();
  if (!is_open()) return Fail(FailureKind::kLost, "the server has ended the session");
  return Status::Ok();
}

Result<PGresult*> Connection::NextResult() {
  while (libpq_->PQisBusy(connection_.get()) != 0) AG_RETURN_IF_ERROR(WaitForInput());
  KeepNotifications();
  return libpq_->PQgetResult(connection_.get());
}

Status Connection::RunScript(const std::string& script) {
  AG_CHECK(transaction_ == TransactionState::kNone, "a script is a transaction of its own");
  AG_RETURN_IF_ERROR(Open());
  failure_ = {};
  answer_by_ = DeadlineAfter(options_.answer_timeout);
  PGconn* const connection = connection_.get();
  // Only one statement is permitted in pipeline mode.
  if (libpq_->PQexitPipelineMode(connection) != 1 ||
      libpq_->PQsendQuery(connection, script.c_str()) != 1) {
    return Lose(FailureKind::kLost,
                OneLine(libpq_->PQerrorMessage(connection), kServerErrorBytesMax));
  }
  Status status;
  for (;;) {
    AG_ASSIGN_OR_RETURN(PGresult* const result, NextResult());
    if (result == nullptr) break;
    const Rows rows(*libpq_, result);
    const ExecStatusType answer = libpq_->PQresultStatus(result);
    if (answer != PGRES_COMMAND_OK && answer != PGRES_TUPLES_OK && status.ok()) {
      status = StatusOf(result);
    }
  }
  if (EndsSession(failure_.kind) || libpq_->PQenterPipelineMode(connection) != 1) Close();
  return status;
}

}  // namespace agent_graph::state::postgres
