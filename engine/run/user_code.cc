#include "run/user_code.h"

#include <exception>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "runtime/runtime.h"

namespace agent_graph::run {
namespace {

// Shared with the thread that runs the work, which may outlive the wait for it.
struct GuardedWork {
  std::function<void()> work;
  std::optional<std::string> failure;  // read only after the work has returned, like the rest
  MonotonicClock::time_point returned;

  void Run() {
    Call();
    returned = MonotonicClock::now();
  }

  void Call() {
    try {
      work();
    } catch (const std::exception& exception) {
      failure = exception.what();
    } catch (...) {
      failure = "it threw something that is not a std::exception";
    }
  }
};

}  // namespace

Status CallUserCode(const RunEnvironment& environment, Execution execution,
                    std::function<void()> work, const std::string& name, Deadline deadline) {
  auto guarded = std::make_shared<GuardedWork>();
  guarded->work = std::move(work);
  if (execution == Execution::kBlocking) {
    auto call = std::make_shared<std::function<void()>>([guarded] { guarded->Run(); });
    AG_RETURN_IF_ERROR(environment.runtime->RunUserFunction(std::move(call), name,
                                                            environment.cancellation, deadline));
  } else {
    guarded->Run();
  }
  // Whoever looks first, the one who waits or the one who returns: late is late.
  if (guarded->returned >= deadline) {
    return Status(StatusCode::kDeadlineExceeded, "the deadline passed");
  }
  if (guarded->failure) return Status(StatusCode::kGraph, *guarded->failure);
  return Status::Ok();
}

}  // namespace agent_graph::run
