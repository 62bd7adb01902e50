// The state that an agent shares with its client: the custom fields of the thread's state.
#pragma once

#include <cstdint>
#include <string>

#include "agent_graph/json.h"
#include "base/status.h"
#include "state/types.h"

namespace agent_graph::agui {

// Follows the changes of the state and writes what the client lacks. Used by one fiber.
class SharedState {
 public:
  // Sets the fields as they are now. Not an object: there are none.
  void Set(json fields);
  // Applies the change of an entry of the run's log. Changes that the state has already may be
  // repeated.
  void Apply(const state::StateEffect& effect);
  // Sets the fields from an AgentState.
  Status SetFromAgentState(const std::string& state_json);

  bool empty() const { return now_.empty(); }
  // Estimated memory of what is kept, as of the last event.
  uint64_t bytes() const { return 2 * sent_weight_; }
  // Appends STATE_SNAPSHOT.
  void AppendSnapshot(std::string& out);
  // Appends what has changed since the client got the last of these events: nothing, STATE_DELTA,
  // or STATE_SNAPSHOT if it is smaller or the first.
  void AppendChange(std::string& out);

 private:
  json now_ = json::object();
  json sent_ = json::object();  // as the client has it
  bool has_sent_ = false;
  uint64_t sent_weight_ = 0;  // the JsonWeight of sent_
};

}  // namespace agent_graph::agui
