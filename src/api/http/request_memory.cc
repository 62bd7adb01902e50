#include "api/http/request_memory.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "bridge/exchange.h"

namespace agent_graph::api {
namespace {

Status Explain(Status room) {
  if (room.code() != StatusCode::kDeadlineExceeded) return room;
  return Status(StatusCode::kResourceExhausted,
                "this worker has too little free memory for the request");
}

}  // namespace

Status AwaitRunMemory(bridge::Exchange& exchange, uint64_t thread_bytes) {
  return Explain(exchange.AwaitMemory(RunMemory(thread_bytes, 0), DeadlineAfter(kMemoryWaitMax)));
}

Status AwaitInputMemory(bridge::Exchange& exchange, uint64_t bytes) {
  return Explain(exchange.AwaitInputMemory(bytes, DeadlineAfter(kMemoryWaitMax)));
}

std::optional<ErrorInfo> AwaitBodyMemory(bridge::Exchange& exchange, uint64_t bytes) {
  if (bytes <= kUncountedBodyBytes) return std::nullopt;
  const uint64_t more = kBodyCopies * bytes - std::min(kBodyCopies * bytes, exchange.held_bytes());
  const Status room = exchange.AwaitMemory(more, DeadlineAfter(kMemoryWaitMax));
  if (room.ok()) return std::nullopt;
  return ErrorOf(Explain(room));
}

}  // namespace agent_graph::api
