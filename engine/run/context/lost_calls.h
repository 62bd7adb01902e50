// Results for the tool calls of a run that ended while they were in progress.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "agent_graph/message.h"
#include "state/types.h"

namespace agent_graph::run {

// Built from the log of the lost run. Immutable.
class LostCalls {
 public:
  // `entries`: the run's log as far as it was written.
  explicit LostCalls(const std::vector<state::LogEntry>& entries);

  // Returns the call's result if the call had finished. Otherwise returns a failed result, which
  // states if it is unknown whether the call took effect.
  Message ResultOf(const std::string& call_id) const;

 private:
  struct Fate {
    bool intended = false;
    bool finished = false;
    bool is_error = false;
    std::string output_json;
  };
  std::unordered_map<std::string, Fate> fates_;
};

}  // namespace agent_graph::run
