// GET /ready. The event loop answers it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "api/http/envelope.h"

namespace agent_graph::api {

// Requirements of a worker that serves requests.
enum class ReadyPart : uint8_t {
  kGraph,   // the service has started with its graph
  kEngine,  // engine threads work
  kState,   // the state server answers
  kDisk,    // the state directory can be written to
  kModels,  // no model's provider fails
  kCount
};

// 200, or 503 with the names of the parts that fail.
Reply ReadyReply(std::span<const ReadyPart> failing, std::string_view request_id);

}  // namespace agent_graph::api
