// Detects requests that a client repeats because the response was lost.
#pragma once

#include <cstddef>
#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::run {

// The messages of a request that the thread already has.
struct Repetition {
  std::vector<bool> known;  // per message of the request
  // All messages are known and nothing was added since: the request is that of the latest turn.
  bool is_latest_turn = false;
  // All messages are known, and their turn had its answer before the user said something else.
  bool is_answered_turn = false;
  // If one of these is true: the range of the window that is the turn's answer. For the latest turn
  // it may be empty.
  size_t answer_begins = 0;
  size_t answer_ends = 0;

  bool Knows(size_t index) const { return index < known.size() && known[index]; }
};

// A message of the request is known if the window has a message with the same id, role and content.
// With `results_by_call`, a tool result is also known if the window has the same
// result of a call that no longer waits for one.
Repetition FindRepetition(const std::vector<Message>& window, const std::vector<Message>& request,
                          bool results_by_call);

}  // namespace agent_graph::run
