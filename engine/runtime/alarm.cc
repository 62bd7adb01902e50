#include "runtime/alarm.h"

#include "runtime/engine_thread.h"

namespace agent_graph::runtime {

Alarm::Alarm(Timer::Callback callback, void* context) {
  timer_.callback = callback;
  timer_.context = context;
}

void Alarm::Set(Deadline deadline) {
  Cancel();
  EngineThread* const thread = EngineThread::Current();
  if (thread == nullptr) return;
  timer_.deadline = deadline;
  thread->AddTimer(timer_);
}

void Alarm::Cancel() {
  if (timer_.is_linked()) EngineThread::Current()->RemoveTimer(timer_);
}

}  // namespace agent_graph::runtime
