// Passes the events of a run to its sink.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "run/call_memory.h"
#include "run/run_sink.h"
#include "runtime/cancellation.h"

namespace agent_graph::run {

// Not thread-safe: used by the run's fiber, or through UserEmission while that fiber waits. Calls
// may suspend, by backpressure. An error of the sink means that the client is gone, and cancels the
// run.
class Emitter : public CallMemory {
 public:
  Emitter(RunSink& sink, const runtime::Cancellation& cancellation)
      : sink_(sink), cancellation_(cancellation) {}

  void SetNode(std::string node, int step);
  const std::string& node() const { return node_; }
  int step() const { return step_; }
  bool wants_deltas() const { return sink_.wants_deltas(); }
  bool wants_states() const { return sink_.wants_states(); }
  bool wants_messages() const { return sink_.wants_messages(); }
  bool wants_final_state() const { return sink_.wants_final_state(); }
  // True if the current node has emitted text, which cannot be taken back: such a node is not
  // retried.
  bool has_shown_pieces() const { return has_shown_pieces_; }

  // Reports the weight of the run's thread as JSON, in bytes. The reply in progress is included
  // from now on.
  void HoldThread(uint64_t bytes);
  Status AwaitMemory(uint64_t bytes) override { return sink_.AwaitMemory(bytes); }
  void HoldCalls(uint64_t bytes) override { sink_.OnHeld(thread_bytes_ + bytes, reply_bytes_); }
  // Waits until there is memory for a piece of a model's reply, in bytes, before HoldPiece or
  // EmitPiece counts it. Small replies do not wait. kResourceExhausted: other requests took too
  // long to free memory.
  Status AwaitPiece(uint64_t bytes);
  // The same for a complete reply, before it becomes a part of the thread. The reply is not lost
  // if there is too little memory for too long.
  void AwaitReply();
  // Counts a piece of a reply, in bytes, without emitting it.
  void HoldPiece(uint64_t bytes);
  Status Start(const RunStart& start);
  void Stored(uint64_t log_end) { sink_.OnStored(log_end); }
  Status Emit(const RunEvent& event);
  // Emits a delta of message `message_id`; only counts it if the sink wants no deltas.
  Status EmitPiece(std::string_view message_id, std::string_view text, std::string_view reasoning);

 private:
  Status Check(Status status);

  RunSink& sink_;
  const runtime::Cancellation& cancellation_;
  std::string node_;
  int step_ = 0;
  bool has_shown_pieces_ = false;
  uint64_t thread_bytes_ = 0;
  uint64_t reply_bytes_ = 0;  // bytes of replies that are not part of the thread yet
  uint64_t reported_reply_bytes_ = 0;
  uint64_t awaited_reply_bytes_ = 0;  // memory is held for a reply of this size
};

}  // namespace agent_graph::run
