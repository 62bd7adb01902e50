#include "run/nodes/concurrently.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::run {
namespace {

// Shared with the helper fibers: one that starts late finds no work left and never calls the body.
struct Work {
  Mutex mutex;
  size_t claimed AG_GUARDED_BY(mutex) = 0;
  size_t finished AG_GUARDED_BY(mutex) = 0;

  size_t count = 0;
  std::function<void(size_t)> body;
  runtime::Signal all_finished;

  void TakePart() {
    for (;;) {
      size_t index;
      {
        MutexLock lock(mutex);
        if (claimed == count) return;
        index = claimed++;
      }
      body(index);
      MutexLock lock(mutex);
      if (++finished == count) all_finished.Notify();
    }
  }
};

}  // namespace

void ForEachConcurrently(runtime::Runtime& runtime, size_t count, size_t width,
                         std::function<void(size_t)> body) {
  if (count == 0) return;
  auto work = std::make_shared<Work>();
  work->count = count;
  work->body = std::move(body);
  for (size_t helper = 1; helper < std::min(count, width); ++helper) {
    runtime.Spawn([work] { work->TakePart(); }, /*here=*/true);
  }
  work->TakePart();
  work->all_finished.Wait(nullptr, kNoDeadline);
}

}  // namespace agent_graph::run
