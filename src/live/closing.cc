#include "live/closing.h"

namespace agent_graph::live {

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return "ok";
    case Outcome::kShutdown:
      return "shutdown";
    case Outcome::kRejected:
      return "rejected";
    case Outcome::kError:
      return "error";
  }
  return "error";
}

Outcome OutcomeOfError(uint16_t close_code) {
  return close_code == websocket::close_code::kInternal ? Outcome::kError : Outcome::kRejected;
}

}  // namespace agent_graph::live
