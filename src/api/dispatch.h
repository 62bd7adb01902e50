// From an exchange to its handler: guard, body, handler, answer.
#pragma once

#include "api/context.h"

namespace agent_graph::api {

// Runs on a fiber of the exchange's own and answers it in every case, also when a handler throws.
void Dispatch(const bridge::ExchangePtr& exchange, const ApiContext& api);

}  // namespace agent_graph::api
