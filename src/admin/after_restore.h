// Makes a database usable that was restored from a backup, or copied.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace agent_graph::admin {

struct AfterRestore {
  std::string history;  // the new one, 32 hex digits
  uint64_t hosts = 0;   // hosts that were alive in the backup
  uint64_t runs = 0;    // runs that were ended
};

// Declares the hosts of the backup dead and ends their runs with the reason "history_lost", because
// the runs may have gone on, and have had effects, after the moment of the backup. If a call is
// interrupted, another one completes it. Blocks, for about three seconds if hosts were alive in the
// backup. kBusy: a host uses the database.
Result<AfterRestore> FinishRestore(const std::string& url);

}  // namespace agent_graph::admin
