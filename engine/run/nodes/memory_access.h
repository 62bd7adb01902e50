// Access of user code to the memory store: implements the SDK's MemoryAccess.
#pragma once

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
  RunMemories(RunEnvironmentPtr environment, Deadline deadline)
      : environment_(std::move(environment)), deadline_(deadline) {}

  std::string Store(const NewMemory& memory) override;
  std::vector<FoundMemory> Search(const MemorySearch& search) override;
  std::optional<MemoryRecord> Get(const std::string& id) override;
  bool Delete(const std::string& id) override;

 private:
  memory::MemoryStore& store() const;
  memory::Access AccessOf(const std::string& agent_id) const;
  memory::WaitOptions wait_options() const { return {environment_->cancellation, deadline_}; }

  const RunEnvironmentPtr environment_;
  const Deadline deadline_;
};

}  // namespace agent_graph::run
