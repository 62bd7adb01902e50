// Handles an exchange: guard, body, handler, response.
#pragma once

#include "api/http/context.h"

namespace agent_graph::api {

// Runs on the exchange's fiber. Answers the exchange in every case, also if the handler throws.
void Dispatch(const bridge::ExchangePtr& exchange, const ApiContext& api);

}  // namespace agent_graph::api
