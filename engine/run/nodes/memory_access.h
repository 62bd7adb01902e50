// Access of user code to the memory store: implements the SDK's MemoryAccess.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/memory.h"
#include "memory/memory_store.h"
#include "run/run_environment.h"

namespace agent_graph::run {

// Valid for one call of a user function or tool, which ends at `deadline`.
class RunMemories : public MemoryAccess {
 public:
  // `key` identifies the call within the run; it is the same when another attempt of the run
  // repeats the call, so that what that stores again is stored once.
  RunMemories(RunEnvironmentPtr environment, Deadline deadline, std::string key)
      : environment_(std::move(environment)), deadline_(deadline), key_(std::move(key)) {}

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
  std::atomic<uint64_t> stored_ = 0;  // number of memories; functions may store on several threads
};

}  // namespace agent_graph::run
