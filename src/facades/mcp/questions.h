// The questions of a paused run, as the protocol asks a user (elicitation).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json.h"
#include "agent_graph/message.h"
#include "facades/mcp/peer.h"

namespace agent_graph::mcp {

struct Question {
  std::string id;   // names the question in its run
  std::string key;  // by which a client of the stateless era answers it
  std::string message;
  std::string schema_json;  // describes the form; empty: the user visits `url`
  std::string url;
};

// Why a run waits.
struct Pause {
  std::vector<Question> questions;  // empty: no user can answer through this protocol
  bool by_tools = false;            // tools ask; otherwise the graph waits for a message
};

// Reads an interrupt as run::InterruptJson writes it.
Pause ReadPause(std::string_view interrupt_json);
// Reads the list `elicitations` of an interrupt, or that of a tool which was called directly.
std::vector<Question> ReadQuestions(const json& elicitations);

// True if there are questions and the client can ask all of them.
bool CanAsk(const Peer& peer, const std::vector<Question>& questions);
// Returns the parameters of elicitation/create.
std::string ElicitationParams(const Question& question, const Peer& peer);

// True for {"action":"accept"|"decline"|"cancel",…}.
bool IsAnswer(const json& value);
// Returns the messages with which the next run brings the answers, one for each question. nullopt:
// the user did not answer what the graph waits for.
std::optional<std::vector<Message>> AnswerMessages(const Pause& pause,
                                                   const std::vector<json>& answers);

}  // namespace agent_graph::mcp
