// Closing: how a session ends on its socket.
#pragma once

#include <cstdint>
#include <string>

#include "websocket/protocol.h"

namespace agent_graph::live {

// The end of a session as nginx logs it.
enum class Outcome : uint8_t {
  kOk,        // the client closed the session
  kShutdown,  // the worker exits
  kRejected,  // a fatal error that the service or the provider did not cause
  kError,     // the service or the provider failed
};

// Returns "ok", "shutdown", "rejected" or "error".
const char* OutcomeName(Outcome outcome);

// The outcome of a session that ends with a fatal error and this close code.
Outcome OutcomeOfError(uint16_t close_code);

// The Close frame of a session, and its outcome.
struct Closing {
  uint16_t code = websocket::close_code::kInternal;
  std::string reason = {};
  Outcome outcome = Outcome::kError;
};

}  // namespace agent_graph::live
