// A call on the event loop of an engine thread at a given time.
#pragma once

#include "base/clock.h"
#include "runtime/timer_queue.h"

namespace agent_graph::runtime {

// Used by one engine thread, which also destroys it. Takes no fiber while it waits, and its use
// needs neither an allocation nor a system call.
class Alarm {
 public:
  // `callback` is called as a handler of the event loop: it must be short and must not wait.
  Alarm(Timer::Callback callback, void* context);
  ~Alarm() { Cancel(); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Makes the call at `deadline`, once. Replaces an earlier one that was not made yet. Has no
  // effect on a thread that is not an engine thread.
  void Set(Deadline deadline);
  void Cancel();

 private:
  Timer timer_;
};

}  // namespace agent_graph::runtime
