// A thread of AgentFlow in the form in which this service stores threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "admin/agentflow/tables.h"
#include "state/types.h"

namespace agent_graph::admin::agentflow {

struct Conversation {
  struct Item {
    state::StoredMessage message;
    bool in_window = false;  // models see it
  };
  state::ThreadRecord record;
  std::vector<Item> messages;  // the whole history, oldest first
  bool has_state = false;
  state::Snapshot snapshot;
  // Lines for the operator: what could not be carried over.
  std::vector<std::string> problems;
  uint64_t file_references = 0;  // messages with ids of files, which the database does not contain
};

// Threads whose user is "anonymous" get no owner, because AgentFlow stores that name if it has no
// authentication.
//
// The window is the `context` of the thread's state; messages of the context that the table lacks
// are added to the history. A paused thread continues at the node at which it was paused.
Conversation Convert(const StoredThread& stored);

// The creation id of imported threads, by which a second import recognises those of the first.
std::string CreationId(const std::string& thread_id);

}  // namespace agent_graph::admin::agentflow
