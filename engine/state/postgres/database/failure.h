// Errors of the database as Status, and what a caller may do about them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace agent_graph::state::postgres {

enum class FailureKind : uint8_t {
  kNone,
  kNotConnected,  // nothing was sent
  kLost,          // the connection ended before the answer: the outcome is unknown
  kInterrupted,   // by Connection::Interrupt; the outcome is unknown
  kRetry,         // serialization failure or deadlock: rolled back, may succeed when repeated
  kStalePlan,     // the prepared statements of the session are outdated: rolled back
  kTimeout,       // statement_timeout or lock_timeout: rolled back
  kReadOnly,      // the server is not, or no longer, the primary
  kConstraint,    // a unique or other constraint was violated
  kDenied,        // the role lacks a right, or the password is wrong
  kNoSchema,      // a table, column or function is missing
  kFenced,        // this host's instance was declared dead: rolled back
  kOutdated,      // another host has changed what this one knows of a thread: rolled back
  kNoSpace,       // disk or memory of the server
  kData,          // a value that cannot be stored
  kOther,
};

struct Failure {
  FailureKind kind = FailureKind::kNone;
  std::string sqlstate = {};
};

// True if the session cannot be used any more.
bool EndsSession(FailureKind kind);

// True if other transactions were in the way: the same may succeed when it is repeated.
bool MayBeRepeated(FailureKind kind);

// Classifies an error of the server.
FailureKind KindOfSqlState(std::string_view sqlstate, std::string_view message);

// The Status of a failure: its message is safe for clients, `detail` is for the log.
Status StatusOfFailure(const Failure& failure, std::string detail);

// The failure of an attempt to connect; `text` is libpq's, without secrets. The message says what
// the operator has to correct: the password, the database, TLS.
Status ConnectFailure(std::string text);

}  // namespace agent_graph::state::postgres
