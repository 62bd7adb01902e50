// Why a run waits.
#pragma once

#include <string>

namespace agent_graph::openai {

// Returns the interrupt of a run as JSON, for the client; empty if the run only waits for the
// results of the client's tools, which the calls of the answer say already.
std::string QuestionOf(const std::string& interrupt_json);

}  // namespace agent_graph::openai
