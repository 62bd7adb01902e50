#include "api/http/request_memory.h"

#include "base/clock.h"
#include "bridge/exchange.h"

namespace agent_graph::api {

std::optional<ErrorInfo> AwaitBodyMemory(bridge::Exchange& exchange, uint64_t bytes) {
  if (bytes <= kUncountedBodyBytes) return std::nullopt;
  const Status room = exchange.AwaitMemory(kBodyCopies * bytes, DeadlineAfter(kMemoryWaitMax));
  if (room.ok()) return std::nullopt;
  if (room.code() != StatusCode::kDeadlineExceeded) return ErrorOf(room);
  return ErrorInfo{
      ApiError::kOverloaded, "this worker has too little free memory for the request", {}};
}

}  // namespace agent_graph::api
