// From a run to its sink.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/status.h"
#include "run/runner.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"

namespace agent_graph::run {

// Used by the run's fiber. A sink that fails cancels the run: nobody is listening.
class Emitter {
 public:
  Emitter(RunSink& sink, const runtime::Cancellation& cancellation)
      : sink_(sink), cancellation_(cancellation) {}

  void SetNode(std::string node, int step);
  const std::string& node() const { return node_; }
  int step() const { return step_; }
  bool wants_deltas() const { return sink_.wants_deltas(); }
  bool wants_states() const { return sink_.wants_states(); }
  bool wants_final_state() const { return sink_.wants_final_state(); }
  // The node in progress has shown text that cannot be taken back.
  bool has_shown_pieces() const { return has_shown_pieces_; }

  // The run's thread has this size as JSON. A reply in progress has become part of it.
  void HoldThread(uint64_t bytes);
  // A piece of a reply that is not emitted.
  void HoldPiece(uint64_t bytes);
  Status Start(const RunStart& start);
  Status Emit(const RunEvent& event);
  // A piece of `message_id`; only counted when the sink wants no deltas.
  Status EmitPiece(std::string_view message_id, std::string_view text, std::string_view reasoning);

 private:
  Status Check(Status status);

  RunSink& sink_;
  const runtime::Cancellation& cancellation_;
  std::string node_;
  int step_ = 0;
  bool has_shown_pieces_ = false;
  uint64_t thread_bytes_ = 0;
  uint64_t reply_bytes_ = 0;  // of replies that are not part of the thread yet
  uint64_t reported_reply_bytes_ = 0;
};

// The emitter as a user function on another thread may use it: only until the run stops waiting for
// that function.
class UserEmission {
 public:
  explicit UserEmission(Emitter& emitter) : emitter_(&emitter) {}

  Status EmitPiece(std::string_view message_id, std::string_view text, std::string_view reasoning);
  // By the run's fiber: from now on nothing is emitted. Waits for an emission in progress.
  void Close();

 private:
  Mutex mutex_;
  Emitter* emitter_ AG_GUARDED_BY(mutex_);  // null once closed
  bool busy_ AG_GUARDED_BY(mutex_) = false;
  runtime::Signal idle_;
};

}  // namespace agent_graph::run
