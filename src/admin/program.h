// The commands of agent-graph-admin, which maintains a service's state directory.
//
//   verify  DIRECTORY                    reads every row; exit status 1 if there are errors
//   backup  DIRECTORY NAME [UPLOADS]     makes a consistent copy in DIRECTORY/backups/NAME
//   restore DIRECTORY BACKUP [UPLOADS]   replaces the state by a copy; keeps the previous state
//   repair  DIRECTORY                    repairs a damaged database as far as it can be read
//   reembed DIRECTORY SERVICE.JSON       recomputes vectors of memories for another embedding
//   migrate DATABASE                     brings the tables of a PostgreSQL to this build's version
//   verify  DATABASE                     reads every row; exit status 1 if there are errors
//   after-restore DATABASE               ends the runs of a PostgreSQL that was restored or copied
//   import  --from leveldb DIRECTORY DATABASE   copies the state of a service into a PostgreSQL
//   import  --from agentflow URL TARGET         copies the threads of AgentFlow's PostgreSQL into
//                                               DATABASE or DIRECTORY
//   schema                               prints the JSON Schema of service.json
//
// verify, backup and reembed send requests to the state server if one is running, so that nginx
// need not be stopped. restore and repair require it to be stopped. verify and repair also accept
// the folder of a backup. DATABASE is a service.json whose checkpointer is a PostgreSQL, or a URL.
#pragma once

#include <string>
#include <vector>

#include "admin/output.h"

namespace agent_graph::admin {

// Executes the program with these arguments, without its own name. Blocks. Returns the exit status:
// 0 for success, 1 for a failure or for errors in the state, 2 for wrong arguments.
int RunProgram(const std::vector<std::string>& arguments, const Output& output);

}  // namespace agent_graph::admin
