// GET /ping. The event loop answers it.
#pragma once

#include <string_view>

#include "api/http/envelope.h"

namespace agent_graph::api {

Reply PingReply(std::string_view request_id);

}  // namespace agent_graph::api
