// The key `rate_limit`.
#pragma once

#include "base/status.h"
#include "settings/settings.h"
#include "settings/value.h"

namespace agent_graph::settings {

Status ReadRateLimit(const Value& value, Settings& settings);
// Call it after all keys were read: uses the Redis of the key `redis` if the block names none.
Status FinishRateLimit(Settings& settings);

}  // namespace agent_graph::settings
