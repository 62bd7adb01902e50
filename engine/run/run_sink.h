// The events that a run emits, their receiver, and the outcome of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "run/log/run_status.h"

namespace agent_graph::run {

// An event of a run. Parts that go on the wire are JSON already. The sink decides what each
// granularity shows; the log does not depend on it.
struct RunEvent {
  enum class Kind { kMessageDelta, kMessage, kUpdate, kState, kError };
  Kind kind = Kind::kMessage;
  std::string message_json;  // kMessageDelta, kMessage: the message object
  std::string state_json;    // kUpdate, kState: the AgentState after a node
  std::string data_json;     // kUpdate: the data object ("" = null)
  Status error;              // kError: the error that ends the run; its text is sent to the client
  std::string node;          // the node that caused it; may be empty
  int step = 0;
  // Index in the thread's log after the entry of this event; 0: it has none, or nothing is stored.
  uint64_t log_end = 0;
};

// A piece of a message as the model produces it. The views are valid during the call only.
struct RunDelta {
  std::string_view message_id;
  std::string_view text;
  std::string_view reasoning;
  std::string_view node;  // the node that called the model
  int step = 0;
};

// Known before the first node is executed.
struct RunStart {
  std::string thread_id;
  std::string run_id;
  bool is_new_thread = false;
  std::string thread_name;
  // For cursors. The number is 0 if nothing is stored, or if the state server is an older build.
  uint64_t thread_number = 0;
  uint64_t lease_epoch = 0;
  uint64_t log_index = 0;  // index of the run's next entry in the thread's log
};

// Receives a run's events. Calls never overlap. They are made on the run's fiber, with one
// exception: what a user function streams arrives on the function's thread, or on the fiber of a
// model call that it makes, while the run's fiber waits. Each call may suspend. A failed Status
// cancels the run.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual Status OnStart(const RunStart& start) = 0;  // after this call, errors are sent as events
  virtual Status OnEvent(const RunEvent& event) = 0;
  // By far the most frequent call. The default implementation converts it to an event.
  virtual Status OnDelta(const RunDelta& delta);
  // All entries before this index in the thread's log are stored (0: not known), and a node is
  // about to be executed.
  virtual void OnStored(uint64_t /*log_end*/) {}
  // Reports how many bytes of JSON the run holds of its thread and of its request, weighed as
  // JsonWeight does, and of a reply that a model is still sending. Called whenever the numbers
  // change.
  virtual void OnHeld(uint64_t /*thread_bytes*/, uint64_t /*reply_bytes*/) {}
  // The same for a large reply of a model, before it is read on: waits until there is memory for
  // it. kResourceExhausted: other requests took too long to free memory. Nothing is counted then.
  virtual Status AwaitHeld(uint64_t thread_bytes, uint64_t reply_bytes) {
    OnHeld(thread_bytes, reply_bytes);
    return Status::Ok();
  }
  // Called before OnStart if the thread is large, before it is loaded, and before a large reply of
  // a tool is read: waits until there is memory for so many bytes of JSON more. A failure ends the
  // run or the call.
  virtual Status AwaitMemory(uint64_t /*thread_bytes*/) { return Status::Ok(); }
  // False: deltas and state snapshots are not needed (invoke).
  virtual bool wants_deltas() const = 0;
  virtual bool wants_states() const = 0;
  // False: events of kind kMessage come without their text.
  virtual bool wants_messages() const { return true; }
  // False: RunOutcome::state_json is not needed and is left empty.
  virtual bool wants_final_state() const { return true; }
};

// The result of a run that has started.
struct RunOutcome {
  RunStart start;
  // The run was given back before its end, for another worker. The rest is not set then.
  bool left = false;
  // False: the state has not taken the end. Another worker may continue the run if it was accepted.
  bool is_stored = true;
  RunStatus status = RunStatus::kDone;
  Status error;                // set if status is kError; also sent as a kError event
  std::string interrupt_json;  // set if status is kInterrupted: InterruptJson
  std::string messages_json;   // array: the working window after the run, oldest first
  std::string state_json;      // AgentState
  std::optional<std::string> summary;
};

}  // namespace agent_graph::run
