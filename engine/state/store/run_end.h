// Values that the store keeps about runs that end, about the runs whose logs it keeps, and about
// messages that do not come from a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "state/runs.h"
#include "state/thread/threads.h"
#include "state/types.h"

namespace agent_graph::state {

struct RunEnd {
  RunState run_state = RunState::kDone;
  std::string reason;
  std::string usage_json = "{}";
  int64_t micros = 0;
  uint64_t lease_epoch = 0;  // of the attempt that sent its end; 0: the state has ended the run
  std::string graph_hash = {};
};
struct KeptRun {  // facts that decide if a run's log is kept
  std::string key;
  bool has_ended = false;
  bool has_paused = false;  // it ended with a pause of the thread
  int64_t finished_micros = 0;
  uint64_t log_begin = 0;
  uint64_t log_bytes = 0;
  bool has_entries = false;  // it did not end while it waited
};

// Messages that were added or replaced from outside of a run.
struct AddedMessages {
  const std::vector<StoredMessage>& messages;
  uint64_t first_new;  // sequence number of the first message that did not exist before
  ThreadEditor::Existing existing;
};

// How far the index of metadata is built.
struct Indexing {
  bool active = false;
  // Number of this host's claim to build the index, if several hosts share the database. Not set:
  // another host builds it.
  std::optional<int64_t> claim = {};
  std::string from;          // key in the listing; empty: its beginning
  int64_t until_micros = 0;  // older threads are indexed already
  uint64_t recorded_commit = 0;
};

}  // namespace agent_graph::state
