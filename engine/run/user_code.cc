#include "run/user_code.h"

#include <exception>
#include <utility>

#include "runtime/runtime.h"

namespace agent_graph::run {

Status CallUserCode(const RunEnvironment& environment, Execution execution,
                    std::shared_ptr<std::function<void()>> work, const std::string& name,
                    Deadline deadline) {
  if (execution == Execution::kBlocking) {
    return environment.runtime->RunUserFunction(std::move(work), name, environment.cancellation,
                                                deadline);
  }
  try {
    (*work)();
  } catch (const std::exception& failure) {
    return Status(StatusCode::kGraph, failure.what());
  } catch (...) {
    return Status(StatusCode::kGraph, "threw something that is not a std::exception");
  }
  return Status::Ok();
}

}  // namespace agent_graph::run
