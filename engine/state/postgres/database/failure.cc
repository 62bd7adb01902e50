#include "state/postgres/database/failure.h"

#include <algorithm>
#include <utility>

namespace agent_graph::state::postgres {
namespace {

struct SqlStateRow {
  std::string_view prefix;
  FailureKind kind;
};

// The first row whose prefix fits decides.
constexpr SqlStateRow kSqlStates[] = {
    {.prefix = "40", .kind = FailureKind::kRetry},  // serialization failure, deadlock
    {.prefix = "55P03", .kind = FailureKind::kTimeout},
    {.prefix = "57014", .kind = FailureKind::kTimeout},
    {.prefix = "57P", .kind = FailureKind::kLost},    // shutdown, crash, idle_session_timeout
    {.prefix = "25P03", .kind = FailureKind::kLost},  // idle_in_transaction_session_timeout
    {.prefix = "08", .kind = FailureKind::kLost},
    {.prefix = "25006", .kind = FailureKind::kReadOnly},
    {.prefix = "26000", .kind = FailureKind::kStalePlan},
    {.prefix = "23", .kind = FailureKind::kConstraint},
    {.prefix = "28", .kind = FailureKind::kDenied},
    {.prefix = "42501", .kind = FailureKind::kDenied},
    {.prefix = "42P01", .kind = FailureKind::kNoSchema},
    {.prefix = "42703", .kind = FailureKind::kNoSchema},
    {.prefix = "42883", .kind = FailureKind::kNoSchema},
    {.prefix = "3F000", .kind = FailureKind::kNoSchema},
    {.prefix = "53", .kind = FailureKind::kNoSpace},
    {.prefix = "22", .kind = FailureKind::kData},
    // Raised by agent_graph.hold_threads.
    {.prefix = "AG001", .kind = FailureKind::kFenced},
    {.prefix = "AG002", .kind = FailureKind::kOutdated},
};

struct KindRow {
  FailureKind kind;
  StatusCode code;
  std::string_view message;
  std::string_view remedy = {};  // for the log
};

constexpr KindRow kKinds[] = {
    {.kind = FailureKind::kNotConnected,
     .code = StatusCode::kUnavailable,
     .message = "the state database is not reachable"},
    {.kind = FailureKind::kLost,
     .code = StatusCode::kUnavailable,
     .message = "the connection to the state database was lost"},
    {.kind = FailureKind::kInterrupted,
     .code = StatusCode::kCancelled,
     .message = "the service is stopping"},
    {.kind = FailureKind::kRetry,
     .code = StatusCode::kUnavailable,
     .message = "the state database is busy"},
    {.kind = FailureKind::kStalePlan,
     .code = StatusCode::kUnavailable,
     .message = "the schema of the state database has changed"},
    {.kind = FailureKind::kTimeout,
     .code = StatusCode::kUnavailable,
     .message = "the state database did not answer in time"},
    {.kind = FailureKind::kReadOnly,
     .code = StatusCode::kUnavailable,
     .message = "the state database accepts no writes"},
    {.kind = FailureKind::kConstraint,
     .code = StatusCode::kConflict,
     .message = "the stored data does not permit this"},
    {.kind = FailureKind::kDenied,
     .code = StatusCode::kUnavailable,
     .message = "the state database refuses the service's user"},
    {.kind = FailureKind::kNoSchema,
     .code = StatusCode::kUnavailable,
     .message = "the state database lacks a table of the service",
     .remedy = ": agent-graph-admin verify says what to do"},
    {.kind = FailureKind::kFenced,
     .code = StatusCode::kFenced,
     .message = "this host's instance was declared dead"},
    {.kind = FailureKind::kOutdated,
     .code = StatusCode::kConflict,
     .message = "another host has changed the thread"},
    {.kind = FailureKind::kNoSpace,
     .code = StatusCode::kUnavailable,
     .message = "the state database has no room"},
    {.kind = FailureKind::kData,
     .code = StatusCode::kInvalidArgument,
     .message = "a text contains a character that cannot be stored"},
};

// Texts of libpq and of the server, which has no codes for them in libpq 15. The first row that
// occurs decides.
struct ConnectRow {
  std::string_view text;
  std::string_view message;
};
constexpr ConnectRow kConnectProblems[] = {
    {.text = "certificate verify failed",
     .message =
         "the certificate of the state database has expired, or sslrootcert does not sign it"},
    {.text = "does not match host name",
     .message = "the certificate of the state database is for another host"},
    {.text = "does not support SSL",
     .message = "the state database has no TLS, which sslmode demands"},
    {.text = "root certificate file",
     .message = "the certificate of the state database cannot be checked: see sslrootcert"},
    {.text = "certificate", .message = "TLS with the state database cannot be set up"},
    {.text = "password authentication failed",
     .message = "the state database refuses the user or the password"},
    // A standby, or a role or database with default_transaction_read_only.
    {.text = "session is read-only", .message = "the state database accepts no writes"},
    {.text = "FATAL:", .message = "the state database refuses the connection"},
    {.text = "", .message = "the state database is not reachable"},
};

}  // namespace

Status ConnectFailure(std::string text) {
  while (text.ends_with(' ') || text.ends_with('\n')) text.pop_back();
  const auto* const row = std::ranges::find_if(kConnectProblems, [&](const ConnectRow& each) {
    return text.find(each.text) != std::string::npos;
  });
  Status status(StatusCode::kUnavailable, std::string(row->message));
  return status.WithDetail(std::move(text));
}

bool EndsSession(FailureKind kind) {
  return kind == FailureKind::kLost || kind == FailureKind::kInterrupted ||
         kind == FailureKind::kReadOnly || kind == FailureKind::kNotConnected;
}

bool MayBeRepeated(FailureKind kind) {
  return kind == FailureKind::kRetry || kind == FailureKind::kTimeout ||
         kind == FailureKind::kStalePlan;
}

FailureKind KindOfSqlState(std::string_view sqlstate, std::string_view message) {
  // The code also stands for features that PostgreSQL lacks.
  if (sqlstate == "0A000" && message.starts_with("cached plan must not change result type")) {
    return FailureKind::kStalePlan;
  }
  for (const SqlStateRow& row : kSqlStates) {
    if (sqlstate.starts_with(row.prefix)) return row.kind;
  }
  return FailureKind::kOther;
}

Status StatusOfFailure(const Failure& failure, std::string detail) {
  if (!failure.sqlstate.empty()) detail += " (SQLSTATE " + failure.sqlstate + ")";
  for (const KindRow& row : kKinds) {
    if (row.kind != failure.kind) continue;
    Status status(row.code, std::string(row.message));
    return status.WithDetail(detail.append(row.remedy));
  }
  Status status(StatusCode::kInternal, "the state database refused a statement");
  return status.WithDetail(std::move(detail));
}

}  // namespace agent_graph::state::postgres
