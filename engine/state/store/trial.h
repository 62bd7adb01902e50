// Copies of a Store's in-memory state, taken before requests whose commit may be refused, to
// restore it in that case.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "state/store/clients.h"
#include "state/store/lease.h"
#include "state/store/ungranted_runs.h"

namespace agent_graph::state {

struct Trial {
  std::map<std::string, std::optional<Lease>> leases;              // by the threads of the requests
  std::map<std::string, ClientEntry> clients;                      // those that sent the requests
  std::map<std::string, std::optional<UngrantedTimes>> ungranted;  // of these threads
  size_t waiters = 0;
  size_t reports = 0;
};

}  // namespace agent_graph::state
