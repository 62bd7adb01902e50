// Results for tool calls that were in progress when their run, or an attempt of it, ended.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent_graph/message.h"
#include "agent_graph/tool.h"
#include "run/log/log_entry.h"
#include "state/types.h"

namespace agent_graph::run {

// Built from the log of the lost run or attempt.
class LostCalls {
 public:
  LostCalls() = default;
  // `entries`: the run's log as far as it was written.
  explicit LostCalls(const std::vector<state::LogEntry>& entries);
  // The next entry of that log.
  void Note(const EntryBody& body);
  // The log lacks its beginning: a call that it does not name may have been made.
  void SetIncomplete() { incomplete_ = true; }

  // Returns the call's result if the call had finished. Otherwise returns a failed result, which
  // states if it is unknown whether the call took effect.
  Message ResultOf(const std::string& call_id) const;

  // How the next attempt of the same run handles the call: with this result, or, if nullopt, by
  // calling the tool (again). A call that may have taken effect and is not idempotent gets a failed
  // result. `idempotency_key` distinguishes the call from an earlier one with the same id.
  struct Settled {
    ToolOutput result;
    bool is_known = false;  // the result is that of the tool
  };
  std::optional<Settled> Settle(const std::string& call_id,
                                const std::string& idempotency_key) const;

 private:
  struct Fate {
    std::string idempotency_key;
    bool repeatable = false;  // idempotent, or it has only asked the user so far
    bool finished = false;
    bool is_error = false;
    std::string output_json;
  };
  std::unordered_map<std::string, Fate> fates_;
  bool incomplete_ = false;
};

}  // namespace agent_graph::run
