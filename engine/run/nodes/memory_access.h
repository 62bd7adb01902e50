// Access of user code to the memory store: implements the SDK's MemoryAccess.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent_graph/memory.h"
#include "base/mutex.h"
#include "memory/memory_store.h"
#include "run/run_environment.h"

namespace agent_graph::run {

// Valid for one call of a user function or tool, which ends at `deadline`.
class RunMemories : public MemoryAccess {
 public:
  // `key` identifies the call within the run, or within the thread if `outlives_run`. It is the
  // same when the call is repeated, by another attempt of the run or by a later run, so that what
  // that stores again is stored once.
  RunMemories(RunEnvironmentPtr environment, Deadline deadline, std::string key,
              bool outlives_run = false)
      : environment_(std::move(environment)),
        deadline_(deadline),
        key_(std::move(key)),
        outlives_run_(outlives_run) {}

  std::string Store(const NewMemory& memory) override;
  std::vector<FoundMemory> Search(const MemorySearch& search) override;
  std::optional<MemoryRecord> Get(const std::string& id) override;
  bool Delete(const std::string& id) override;

 private:
  memory::MemoryStore& store() const;
  memory::Access AccessOf(const std::string& agent_id) const;
  std::string NextId(const memory::NewMemory& memory);
  memory::WaitOptions wait_options() const { return {environment_->cancellation, deadline_}; }

  const RunEnvironmentPtr environment_;
  const Deadline deadline_;
  const std::string key_;
  const bool outlives_run_;
  Mutex mutex_;  // functions may store on several threads
  // Number of memories by the digest of their content.
  std::unordered_map<std::string, uint64_t> stored_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::run
