#include "api/http/request_memory.h"

#include "base/clock.h"
#include "bridge/exchange.h"

namespace agent_graph::api {
namespace {

Status AwaitMemory(bridge::Exchange& exchange, uint64_t bytes) {
  Status room = exchange.AwaitMemory(bytes, DeadlineAfter(kMemoryWaitMax));
  if (room.code() != StatusCode::kDeadlineExceeded) return room;
  return Status(StatusCode::kResourceExhausted,
                "this worker has too little free memory for the request");
}

}  // namespace

Status AwaitRunMemory(bridge::Exchange& exchange, uint64_t thread_bytes) {
  return AwaitMemory(exchange, RunMemory(thread_bytes, 0));
}

std::optional<ErrorInfo> AwaitBodyMemory(bridge::Exchange& exchange, uint64_t bytes) {
  if (bytes <= kUncountedBodyBytes) return std::nullopt;
  const Status room = AwaitMemory(exchange, kBodyCopies * bytes);
  if (room.ok()) return std::nullopt;
  return ErrorOf(room);
}

}  // namespace agent_graph::api
