// Questions to the user in the stateless era: the call ends with them and with a state that the
// client keeps, and is repeated with that state and the answers, at any worker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "facades/mcp/call.h"
#include "facades/mcp/questions.h"

namespace agent_graph::mcp {

// A call that waits for answers.
struct PausedCall {
  std::string digest;          // see ToolCall
  std::string thread_id = {};  // the thread of the run; empty: a tool of the graph asks
  std::string run_id = {};     // the run that waits; empty: a tool of the graph asks
  Pause pause;
  std::string inputs_json = {};  // the questions of a tool of the graph: run::OpenInputs
};

// Returns the result that asks. Fails as the state does.
Result<std::string> AskForInput(const Call& call, const PausedCall& paused);

enum class InputReading : uint8_t {
  kAnswered,
  kMissing,  // not every question has an answer: they must be asked again
  kRefused,  // the request was malformed, and is answered
};
// Reads the answers of a request that has them already when it is first made.
InputReading ReadEarlyAnswers(const Call& call, const Pause& pause, std::vector<json>& answers);
// Reads the state and the answers of a repeated call. `digest` is that of the call.
InputReading ReadInput(const Call& call, const std::string& digest, PausedCall& paused,
                       std::vector<json>& answers);

}  // namespace agent_graph::mcp
