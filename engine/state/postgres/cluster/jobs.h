// Regular work that one host does for all: retention, sweeps.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::state::postgres {

// A job that this instance has claimed.
struct JobClaim {
  std::string name;
  std::string instance;
  int64_t number = 0;  // number of the claim
};

// The parts of a claim, for a transaction of the caller's.
std::vector<Command> ClaimCommands(const std::string& name, const std::string& instance);
// `results` are those of ClaimCommands; nullopt: the job is not free.
std::optional<int64_t> NumberOfClaim(const std::vector<Rows>& results);
// See FinishJob.
Command FinishCommand(const JobClaim& claim, std::chrono::seconds pause);

// Claims a job if it is due and no living instance works on it; nullopt: not now. A job that does
// not exist yet is due. Claims of dead instances are void. Never waits for another host.
Result<std::optional<JobClaim>> ClaimJob(Connection& connection, const std::string& name,
                                         const std::string& instance);

// The job is done and due again after `pause`, by the database's clock. Does nothing if the claim
// has become void.
Status FinishJob(Connection& connection, const JobClaim& claim, std::chrono::seconds pause);

}  // namespace agent_graph::state::postgres
