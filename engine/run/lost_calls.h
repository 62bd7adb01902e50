// What became of the tool calls of a run that ended in the middle of them.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "agent_graph/message.h"
#include "state/types.h"

namespace agent_graph::run {

class LostCalls {
 public:
  // `entries`: the run's log, as far as it was written.
  explicit LostCalls(const std::vector<state::LogEntry>& entries);

  // The call's result, if it ended. Otherwise a failed one, which says so when nobody
  // knows whether it took effect.
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
