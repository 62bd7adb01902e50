#include "api/http/request_memory.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "bridge/exchange.h"
#include "settings/settings.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::api {
namespace {

Status Explain(Status room) {
  if (room.code() != StatusCode::kDeadlineExceeded) return room;
  return Status(StatusCode::kResourceExhausted,
                "this worker has too little free memory for the request");
}

// A larger state is read in a second call, once there is memory for it.
constexpr uint64_t kStateBytesMax = 64 * 1024;

// `bytes`: what the exchange is to hold in all.
Status AwaitInAll(bridge::Exchange& exchange, uint64_t bytes) {
  const uint64_t held = exchange.held_bytes();
  if (bytes <= held) return Status::Ok();
  return Explain(exchange.AwaitMemory(bytes - held, DeadlineAfter(kMemoryWaitMax)));
}

Status AwaitOmitted(bridge::Exchange& exchange, uint64_t state_bytes) {
  return Explain(exchange.AwaitMemory(kStateCopies * state_bytes, DeadlineAfter(kMemoryWaitMax)));
}

}  // namespace

Status AwaitRunMemory(bridge::Exchange& exchange, uint64_t thread_bytes) {
  return Explain(exchange.AwaitMemory(RunMemory(thread_bytes, 0), DeadlineAfter(kMemoryWaitMax)));
}

Status AwaitRunGrowth(bridge::Exchange& exchange, uint64_t thread_bytes, uint64_t reply_bytes) {
  return AwaitInAll(exchange, RunMemory(thread_bytes, reply_bytes));
}

Status AwaitInputMemory(bridge::Exchange& exchange, uint64_t bytes) {
  return Explain(exchange.AwaitInputMemory(bytes, DeadlineAfter(kMemoryWaitMax)));
}

std::optional<ErrorInfo> AwaitBodyMemory(bridge::Exchange& exchange, uint64_t bytes) {
  if (bytes <= kUncountedBodyBytes) return std::nullopt;
  const Status room = AwaitInAll(exchange, kBodyCopies * bytes);
  if (room.ok()) return std::nullopt;
  return ErrorOf(room);
}

std::optional<ErrorInfo> EnterPageReads(bridge::Exchange& exchange, PageReads& reads,
                                        const settings::LimitSettings& limits,
                                        PageReads::Place& place) {
  Result<PageReads::Place> entered =
      reads.Enter(exchange.cancellation(), DeadlineAfter(kMemoryWaitMax));
  if (entered.status().code() == StatusCode::kDeadlineExceeded) return NoRoomError();
  if (!entered.ok()) return ErrorOf(entered.status());
  place = *std::move(entered);
  // The same number of requests may read pages, and search, at a time.
  constexpr uint64_t kReadsMax = 2 * kPageReadsMax;
  const uint64_t page =
      std::min<uint64_t>(limits.page_bytes_max, limits.buffered_bytes_max / (2 * kReadsMax));
  const uint64_t pages = kReadsMax * page;
  if (exchange.worker_buffered_bytes() + pages > limits.buffered_bytes_max) {
    const Status room = exchange.AwaitMemory(page, DeadlineAfter(kMemoryWaitMax));
    if (!room.ok()) return ErrorOf(Explain(room));
  }
  if (!exchange.worker_is_full()) return std::nullopt;
  return NoRoomError();
}

Result<state::ThreadState> ReadThreadState(bridge::Exchange& exchange, state::Service& state,
                                           const state::Scope& scope,
                                           const std::string& thread_id) {
  AG_ASSIGN_OR_RETURN(state::GetStateUpToReply reply,
                      state.GetStateUpTo({scope, thread_id, kStateBytesMax}));
  if (reply.omitted_bytes == 0) return std::move(reply.state);
  AG_RETURN_IF_ERROR(AwaitOmitted(exchange, reply.omitted_bytes));
  return state.GetState(scope, thread_id);
}

Status AwaitStateMemory(bridge::Exchange& exchange, state::Service& state,
                        const state::Scope& scope, const std::string& thread_id) {
  Result<state::GetStateUpToReply> reply = state.GetStateUpTo({scope, thread_id, 0});
  if (reply.status().code() == StatusCode::kNotFound) return Status::Ok();
  AG_RETURN_IF_ERROR(reply.status());
  if (reply->omitted_bytes <= kStateBytesMax) return Status::Ok();
  return AwaitOmitted(exchange, reply->omitted_bytes);
}

}  // namespace agent_graph::api
