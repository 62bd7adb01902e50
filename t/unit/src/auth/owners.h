// A fake checkpointer that returns the owners of threads.
#pragma once

#include <map>
#include <string>

#include "auth/ownership.h"

namespace agent_graph::auth::testing {

struct Owners {
  std::map<std::string, std::string> owners;
  Status failure;  // result of every read unless Ok
  int reads = 0;

  ReadThread Reader() {
    return [this](const std::string& thread_id) -> Result<state::ThreadRecord> {
      ++reads;
      if (!failure.ok()) return failure;
      auto found = owners.find(thread_id);
      if (found == owners.end()) return Status(StatusCode::kNotFound, "no such thread");
      state::ThreadRecord record;
      record.thread_id = thread_id;
      record.owner = found->second;
      return record;
    };
  }
};

}  // namespace agent_graph::auth::testing
