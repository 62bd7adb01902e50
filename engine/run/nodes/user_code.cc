#include "run/nodes/user_code.h"

#include <optional>
#include <utility>

#include "base/allocation_account.h"
#include "base/clock.h"
#include "runtime/runtime.h"

namespace agent_graph::run {
namespace {

// Shared with the thread that runs the work, which may outlive the wait.
struct GuardedWork {
  std::function<void()> work;
  std::optional<UserFailure> failure;  // read only after the work has returned, like `returned`
  MonotonicClock::time_point returned;

  void Run() {
    Call();
    returned = MonotonicClock::now();
  }

  void Call() {
    try {
      work();
    } catch (...) {
      failure = CaughtUserFailure();
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
    const AllocationScope scope(environment.runtime->function_bytes_max());
    guarded->Run();
  }
  // Compared with the time of return, so that the result does not depend on which thread is first.
  if (guarded->returned >= deadline) {
    return Status(StatusCode::kDeadlineExceeded, "the deadline passed");
  }
  if (guarded->failure) {
    const auto& [text, ours] = *guarded->failure;
    if (ours || environment.services->show_exception_text) {
      return Status(StatusCode::kGraph, "failed: " + text);
    }
    return Status(StatusCode::kGraph, "failed").WithDetail(text);
  }
  return Status::Ok();
}

}  // namespace agent_graph::run
