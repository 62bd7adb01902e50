// The key `rate_limit`.
#pragma once

#include "base/status.h"
#include "settings/settings.h"
#include "settings/value.h"

namespace agent_graph::settings {

Status ReadRateLimit(const Value& value, Settings& settings);
// After all keys were read: the Redis of `redis` serves when the block names none.
Status FinishRateLimit(Settings& settings);

}  // namespace agent_graph::settings
