// Runs that were to resume a paused thread and ended before their first node.
#pragma once

#include <string>
#include <vector>

#include "state/types.h"

namespace agent_graph::state {

// True for the execution meta of a paused thread that has a node to resume at.
bool IsResumable(const std::string& execution);
// The meta of a thread that stays paused although the messages of a resume are stored.
std::string WithUnexecutedResume(const std::string& execution);

// Finds out from a run's log, read backwards, whether every attempt of the run has left its worker
// before it executed a node.
class UnexecutedRun {
 public:
  // Takes the entries of one append, oldest first. Returns false when no earlier append is needed.
  bool TakeEarlier(const std::vector<LogEntry>& entries);

  // False also if the log lacks the beginning of the run.
  bool is_unexecuted() const { return phase_ == Phase::kUnexecuted; }
  bool has_messages() const { return has_messages_; }

 private:
  enum class Phase {
    kAtEnd,         // only entries about the end of the run so far
    kMustHaveLeft,  // the beginning of an attempt: the one before must have left
    kInAttempt,     // of an attempt that has left
    kUnexecuted,
    kExecuted,
  };
  // `ends_run`: the append has the end of the run.
  void Take(const std::string& kind, bool ends_run);

  bool has_messages_ = false;
  Phase phase_ = Phase::kAtEnd;
};

}  // namespace agent_graph::state
