#include "api/resources/ping.h"

namespace agent_graph::api {

Reply PingReply(std::string_view request_id) {
  return SuccessReply("\"pong\"", "OK", request_id);
}

}  // namespace agent_graph::api
