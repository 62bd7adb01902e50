// A database in memory whose sync takes as long as the test wants.
#pragma once

#include <atomic>
#include <future>

#include "wrapped_database.h"

namespace agent_graph::state {

class SlowDatabase : public WrappedDatabase {
 public:
  bool syncs_later() const override { return true; }
  Status SyncWritten() override {
    if (is_synced) return Status::Ok();
    began.set_value();
    finish.get_future().wait();
    is_synced = true;
    return Status::Ok();
  }

  std::promise<void> began;  // the first sync
  std::promise<void> finish;
  std::atomic<bool> is_synced{false};
};

}  // namespace agent_graph::state
