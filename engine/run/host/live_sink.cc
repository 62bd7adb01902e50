#include "run/host/live_sink.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace agent_graph::run {
namespace {

// How long a run waits for others to free memory before it is given to another worker.
constexpr std::chrono::seconds kMemoryWaitMax{30};

}  // namespace

Status LiveSink::OnStart(const RunStart& start) {
  start_.reset();
  live_.Begin(start);
  return Status::Ok();
}

// Events arrive when their entries are stored.
Status LiveSink::OnEvent(const RunEvent& event) {
  live_.SetStored(event.log_end);
  return Status::Ok();
}

Status LiveSink::OnDelta(const RunDelta& delta) {
  live_.AddPiece(delta);
  return Status::Ok();
}

// The partial message is one more copy of the reply.
void LiveSink::OnHeld(uint64_t thread_bytes, uint64_t reply_bytes) {
  Hold(MemoryOf(thread_bytes, reply_bytes) + live_.partial_bytes());
}

Status LiveSink::AwaitHeld(uint64_t thread_bytes, uint64_t reply_bytes) {
  const uint64_t bytes = MemoryOf(thread_bytes, reply_bytes) + live_.partial_bytes();
  return bytes > held_ ? Await(bytes - held_) : Status::Ok();
}

Status LiveSink::AwaitMemory(uint64_t thread_bytes) {
  return Await(MemoryOf(thread_bytes, 0));
}

Status LiveSink::Await(uint64_t bytes) {
  if (!options_.await_bytes) return Status::Ok();
  const Deadline given_up = DeadlineAfter(kMemoryWaitMax);
  Status room = options_.await_bytes(bytes, held_, cancellation_, std::min(given_up, deadline_));
  if (room.ok()) held_ += bytes;
  if (room.code() != StatusCode::kDeadlineExceeded || deadline_ <= given_up) return room;
  return Status(StatusCode::kResourceExhausted,
                "this worker has too little free memory for the run");
}

uint64_t LiveSink::MemoryOf(uint64_t thread_bytes, uint64_t reply_bytes) const {
  return options_.memory_of ? options_.memory_of(thread_bytes, reply_bytes)
                            : thread_bytes + reply_bytes;
}

void LiveSink::Hold(uint64_t bytes) {
  if (options_.count_bytes && bytes != held_) {
    options_.count_bytes(static_cast<int64_t>(bytes) - static_cast<int64_t>(held_));
  }
  held_ = bytes;
}

}  // namespace agent_graph::run
