// The sorted deadlines of waiting fibers. A wait needs no allocation and no system call.
#pragma once

#include <boost/intrusive/set.hpp>

#include "base/clock.h"

namespace agent_graph::runtime {

// On the waiter's stack; used by one engine thread.
struct Timer : boost::intrusive::set_base_hook<> {
  using Callback = void (*)(void* context);

  Deadline deadline = kNoDeadline;
  Callback callback = nullptr;
  void* context = nullptr;

  friend bool operator<(const Timer& a, const Timer& b) { return a.deadline < b.deadline; }
};

using TimerQueue = boost::intrusive::multiset<Timer>;

}  // namespace agent_graph::runtime
