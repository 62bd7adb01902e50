// Requests that are sent again because their answer was lost, with a worker or on the way.
#pragma once

#include <cstddef>
#include <vector>

#include "agent_graph/message.h"

namespace agent_graph::run {

// The messages of a request that the thread has already.
struct Repetition {
  std::vector<bool> known;  // of each message of the request
  // All of them, and nobody has said anything since: it is the request of the latest turn.
  bool is_latest_turn = false;
  size_t answer_begins = 0;  // with is_latest_turn: where in the window what followed begins

  bool Knows(size_t index) const { return index < known.size() && known[index]; }
};

// A message of the request is known when the window has one of its id, with the same role and
// content. With `results_by_call` a tool result without an id is, too, when the window has that
// result of a call that waits for none any more.
Repetition FindRepetition(const std::vector<Message>& window, const std::vector<Message>& request,
                          bool results_by_call);

}  // namespace agent_graph::run
