#include "facades/run/error_status.h"

namespace agent_graph::facades {

int ErrorStatus(const api::ErrorInfo& error) {
  if (error.status != 0) return error.status;
  if (api::IsAuthenticationError(error.error)) return 401;
  if (error.error == api::ApiError::kValidation) return 400;
  return api::StatusOf(error);
}

}  // namespace agent_graph::facades
