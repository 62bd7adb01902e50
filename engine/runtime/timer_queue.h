// Deadlines of waiting fibers, ordered, without an allocation or a system call per wait.
#pragma once

#include <boost/intrusive/set.hpp>

#include "base/clock.h"

namespace agent_graph::runtime {

// Lives on the waiter's stack; belongs to one engine thread.
struct Timer : boost::intrusive::set_base_hook<> {
  using Callback = void (*)(void* context);

  Deadline deadline = kNoDeadline;
  Callback callback = nullptr;
  void* context = nullptr;

  friend bool operator<(const Timer& a, const Timer& b) { return a.deadline < b.deadline; }
};

using TimerQueue = boost::intrusive::multiset<Timer>;

}  // namespace agent_graph::runtime
