// Interrupts: what a paused thread waits for, and the answers in a request's `resume`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "api/http/errors.h"
#include "run/run_request.h"
#include "state/types.h"
#include "tools/call/call_input.h"

namespace agent_graph::agui {

struct OpenInterrupt {
  enum class Kind : uint8_t {
    kPause,      // the graph pauses; the next message goes on
    kQuestion,   // a tool asks the user
    kUndecided,  // a tool call may have taken effect before its worker died
  };
  Kind kind = Kind::kPause;
  std::string id;
  std::string call_id;  // kUndecided: the call; kQuestion: the id under which it is answered
  tools::Question question = {};  // kQuestion
  json shown;                     // the interrupt as clients receive it
};

// The answers that the paused thread waits for. Empty if it is not paused, or if it only waits for
// results of the client's tools, which are not interrupts. An id is used for one pause only.
std::vector<OpenInterrupt> InterruptsOf(const state::ThreadState& thread);

// An entry of `resume`.
struct ResumeEntry {
  std::string interrupt_id;
  bool is_cancelled = false;
  std::optional<json> payload = {};
};

// Adds the answers to the request: as messages before its other messages, and as decisions. Returns
// the error if an interrupt has no answer, an answer belongs to no open interrupt, or an answer
// does not have the form that its interrupt demands; the thread then waits as before.
std::optional<api::ErrorInfo> TakeResume(const std::vector<OpenInterrupt>& open,
                                         const std::vector<ResumeEntry>& resume,
                                         run::RunRequest& request);

}  // namespace agent_graph::agui
