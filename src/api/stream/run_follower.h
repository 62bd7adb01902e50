// Follows a run: turns the entries of its log into events, from any position on, while the run goes
// on. The message in progress of an accepted run comes piece by piece.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/stream/partial_messages.h"
#include "api/stream/run_reader.h"
#include "base/clock.h"
#include "base/status.h"
#include "run/host/live_run.h"
#include "run/host/remote_run.h"
#include "run/log/cursor.h"
#include "run/log/log_entry.h"
#include "runtime/cancellation.h"
#include "state/runs.h"
#include "state/service.h"

namespace agent_graph::api {

// A run as one reader sees it.
struct FollowedRun {
  state::Scope scope;
  std::string thread_id;
  std::string run_id;
};

// Where the follower finds the message in progress of a run. Each may be empty.
struct LiveRuns {
  // Returns the run if this worker executes it, else null.
  std::function<std::shared_ptr<const run::LiveRun>()> here;
  // For a run of another worker.
  std::function<std::shared_ptr<run::RemoteRun>(uint64_t thread_number)> elsewhere;
  // For a run of another worker, when this worker leaves: the time at which the reader must go to
  // another worker, where its cursor is valid, too. kNoDeadline while this worker stays.
  std::function<Deadline()> leave_time;
};

struct FollowerOptions {
  bool with_state = false;  // RunEnd::state_json is needed
  // Pieces of messages come from the log only (RunRequest::log_pieces): every reader, at any time
  // and in any worker, gets the same ones.
  bool pieces_of_log = false;
  // Ends after the entries that there are. OnEnd is not called if the run has not ended.
  bool until_now = false;
  std::chrono::milliseconds heartbeat{10'000};
  // After this time a failed read of the log is repeated.
  std::chrono::milliseconds retry{1000};
  // Reads the state that the last line shows. Empty: it is read at once, whatever its size.
  std::function<Result<state::ThreadState>()> read_state = {};
};

// Used by one fiber, which it suspends. The run never waits for it.
class RunFollower {
 public:
  enum class Place : uint8_t {
    kFound,
    kBehindEnd,  // the reader has everything
    // The cursor is of another thread, of a thread that had this id before, or from before the
    // database was restored from a backup.
    kOtherThread,
    kCutAway,      // the entries behind the cursor are no longer kept
    kHistoryLost,  // the database has lost the entries before the cursor
  };

  // All of them must outlive the follower.
  RunFollower(state::Service& state, LiveRuns runs, FollowedRun followed, FollowerOptions options,
              const runtime::Cancellation& cancellation);

  // Reads the run's record and finds the place after the cursor; nullopt: the beginning.
  // kNotFound: no such run in the scope.
  Result<Place> Open(const std::optional<run::Cursor>& after);
  // Passes the events after that place to the reader, from OnStart to OnEnd. kCancelled: the reader
  // has gone, or must go. kUnavailable, kResourceExhausted: the log could not be read for a while.
  Status Follow(RunReader& reader);

  // The record as of the latest read.
  const state::RunRecord& record() const { return record_; }

 private:
  Result<Place> FindPlace(const run::Cursor& after);
  void Recall(const state::IndexedEntry& indexed, uint64_t lease_epoch, std::string& message_id);
  std::shared_ptr<const run::LiveRun> FindLive() const;
  Status FollowNext();
  Status FollowLive(const std::shared_ptr<const run::LiveRun>& live);
  Status FollowRemote();
  // True if the view is of an attempt before the latest one that the reader knows.
  bool IsOvertaken(const run::LiveRun::View& view) const;
  // Sends the part of the view that the reader does not have. False: the log must be read first.
  Result<bool> ShowView(const run::LiveRun& live, run::LiveRun::View& view);
  Status ReadLog(std::chrono::milliseconds wait);
  Status AwaitRetry(Status failure);
  Status BeatIfDue();
  // When the follower must next check for changes, even if nothing wakes it.
  Deadline NextLook() const;
  std::chrono::milliseconds UntilLook() const;

  Status ShowEntry(const state::IndexedEntry& indexed);
  Status ShowEvent(const run::RunEvent& event, const EventPlace& place);
  Status ShowPiece(const run::entry::MessagePiece& piece, uint64_t lease_epoch);
  Status ShowPartial(const run::LiveRun::View& view, const std::string& asked_id);
  Status ShowRest(const std::string& message_json, const std::string& node, uint64_t lease_epoch);
  Status ShowDelta(const run::RunDelta& delta, const MessagePart& part, bool is_first);
  Status ResetVoid(uint64_t lease_epoch);
  Status ShowErrorOfEmptyRun();
  // `reason`: why the events end before the run has; empty: the run has ended.
  Status ShowEnd(std::string_view reason = {});
  // Records that the reader got an event.
  Status Sent(const Status& sent);
  // Names the thread in cursors. After a restore the database may give the number of a thread, and
  // the places of its log, once more.
  uint64_t PlaceNumber() const { return record_.thread_number ^ history_; }
  std::string CursorAt(uint64_t index, uint64_t reasoning_bytes = 0, uint64_t text_bytes = 0) const;

  state::Service& state_;
  const LiveRuns runs_;
  const FollowedRun followed_;
  const FollowerOptions options_;
  const runtime::Cancellation cancellation_;
  RunReader* reader_ = nullptr;

  state::RunRecord record_;
  uint64_t history_ = 0;        // see state::FollowRunReply
  std::string interrupt_json_;  // set if the run has paused
  run::RunStart start_;
  uint64_t next_ = 0;         // index of the next entry to read
  uint64_t lease_epoch_ = 0;  // highest epoch of the events that the reader has, and of its cursor
  int step_ = -1;             // the step of the last node_started entry; -1: not known
  PartialMessages parts_;
  // Epoch of the reader's cursor, if the entries that the cursor counts were lost with the power.
  std::optional<uint64_t> lost_epoch_;
  std::shared_ptr<const run::LiveRun> left_;  // an attempt of this worker that is over
  std::shared_ptr<run::RemoteRun> remote_;    // the run, when another worker executes it
  bool complete_ = false;
  bool caught_up_ = false;  // the last read of the log found no entries
  int failures_ = 0;
  Deadline next_beat_ = kNoDeadline;
};

}  // namespace agent_graph::api
