// Accepted runs in tests of the state.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "../requests.h"
#include "state/runs.h"

namespace agent_graph::state {

// Receives the runs that are granted to one client.
class Grants {
 public:
  std::function<void(GrantedRun)> Receiver() {
    return [this](GrantedRun run) {
      const std::lock_guard lock(mutex_);
      runs_.push_back(std::move(run));
      arrived_.notify_all();
    };
  }
  GrantedRun Next() {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_for(lock, kPatience, [this] { return !runs_.empty(); })) {
      ADD_FAILURE() << "no run was granted";
      return {};
    }
    GrantedRun run = std::move(runs_.front());
    runs_.pop_front();
    return run;
  }
  bool empty() {
    const std::lock_guard lock(mutex_);
    return runs_.empty();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<GrantedRun> runs_;
};

}  // namespace agent_graph::state
