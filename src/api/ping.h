// GET /ping, answered in the event loop.
#pragma once

#include <string_view>

#include "api/envelope.h"

namespace agent_graph::api {

Reply PingReply(std::string_view request_id);

}  // namespace agent_graph::api
