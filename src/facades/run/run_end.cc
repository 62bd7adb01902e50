#include "facades/run/run_end.h"

namespace agent_graph::facades {

std::optional<api::ErrorInfo> FailureOf(const api::RunEnd& end) {
  if (!end.reason.empty()) {
    return api::ErrorInfo{api::ApiError::kGone, "the thread was deleted", {}};
  }
  if (end.outcome != run::RunStatus::kError) return std::nullopt;
  return api::ErrorInfo{api::ApiError::kInternal, "the run failed", {}};
}

}  // namespace agent_graph::facades
