// Copies the threads of a database of AgentFlow, the reference server in Python.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "admin/agentflow/tables.h"
#include "base/status.h"

namespace agent_graph::admin {

struct ImportedThreads {
  agentflow::TableCounts found;  // in the tables that are read
  uint64_t threads = 0;          // written now
  uint64_t earlier = 0;          // written by an earlier import
  uint64_t occupied = 0;         // not written: see WrittenThread
  uint64_t states = 0;           // states of the threads that were written now
  uint64_t messages = 0;         // the same
  uint64_t file_references = 0;  // messages that name a file
  uint64_t problems = 0;
};

// Copies the tables of the database `url` into `target` (see ImportTarget), some threads at a time,
// each portion in one transaction, so an import that was interrupted is simply started again. Calls
// `problem` with a line for everything that cannot be carried over. Blocks. kDataLoss: fewer
// threads were read than the source has.
Result<ImportedThreads> ImportAgentFlow(const std::string& url, const std::string& target,
                                        const std::function<void(const std::string&)>& problem);

}  // namespace agent_graph::admin
