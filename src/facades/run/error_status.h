// The HTTP status of errors in foreign protocols.
#pragma once

#include "api/http/errors.h"

namespace agent_graph::facades {

// For protocols in which an invalid request is 400, and a missing or wrong credential 401. A status
// that a custom backend or nginx has chosen stays.
int ErrorStatus(const api::ErrorInfo& error);

}  // namespace agent_graph::facades
