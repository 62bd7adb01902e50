// The events of a run as its reader gets them: a run of any worker that is read from its log
// (RunFollower), and a run that the reader's own request executes (facades/run). What a protocol
// sends is a RunReader; LineReader is that of this API's streams.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "run/log/run_status.h"
#include "run/run_sink.h"
#include "state/runs.h"
#include "state/types.h"

namespace agent_graph::api {

// Where an event is in its run. The view is valid during the call only.
struct EventPlace {
  std::string_view cursor;  // the position after the event; empty: not known
  int64_t micros = 0;       // since the Unix epoch
};

// A whole message that was added to the thread. Messages of the request are not events, except for
// results of tools.
struct MessageEvent {
  const std::string& json;  // message::FromJsonText reads it
  std::string_view node;
  int step = 0;
};

// The error that ends the run.
struct RunError {
  const Status& status;
  std::string_view node;
  int step = 0;
};

// How the run has ended.
struct RunEnd {
  run::RunStatus outcome = run::RunStatus::kDone;
  std::string_view interrupt_json = {};      // set if the run was interrupted: run::InterruptJson
  std::string_view state_json = {};          // AgentState, if the reader asked for it
  std::string_view thread_name = {};         // may be empty
  std::string_view reason = {};              // why the events end before the run has ended
  const state::RunRecord* record = nullptr;  // as it was read last; null: the run is not stored
};

// Calls never overlap; all are made on fibers, and each may suspend. A failed Status ends the
// reading, and the run if it is executed for this reader only. OnStart comes first. OnEnd comes
// last, once, after every outcome of a run that has started. The deltas of a message, joined, are a
// beginning of the message that follows them.
class RunReader {
 public:
  virtual ~RunReader() = default;

  // `record`: of a run that is read from its log; null for others.
  virtual Status OnStart(const run::RunStart& start, const state::RunRecord* record) = 0;
  // RunRequest::note_json, when the run's first attempt begins. Not called for a run without one.
  virtual Status OnNote(std::string_view /*note_json*/, const EventPlace& /*place*/) {
    return Status::Ok();
  }
  // A piece of a message as its model produces it. `is_first`: the first one of this message that
  // this reader gets.
  virtual Status OnDelta(const run::RunDelta& delta, const EventPlace& place, bool is_first) = 0;
  virtual Status OnMessage(const MessageEvent& message, const EventPlace& place) = 0;
  virtual Status OnNodeFinished(std::string_view /*node*/, int /*step*/,
                                const EventPlace& /*place*/) {
    return Status::Ok();
  }
  // A node has changed the state. OnStateChanged passes the change, for runs that are read from
  // their log. OnState passes the whole AgentState, for a run that this request executes, if
  // `wants_states` is set.
  virtual Status OnStateChanged(const state::StateEffect& /*effect*/, const EventPlace& /*place*/) {
    return Status::Ok();
  }
  virtual Status OnState(const std::string& /*state_json*/, const EventPlace& /*place*/) {
    return Status::Ok();
  }
  // The worker has died or left within this message, whose pieces are void: attempt `attempt`
  // produces another message. `message_id` is empty if it is the message in which the reader's
  // cursor was.
  virtual Status OnReset(std::string_view message_id, uint32_t attempt) = 0;
  virtual Status OnError(const RunError& error, const EventPlace& place) = 0;
  virtual Status OnEnd(const RunEnd& end, const EventPlace& place) = 0;
  // Called when no event has come for a while.
  virtual Status OnIdle() { return Status::Ok(); }
};

}  // namespace agent_graph::api
