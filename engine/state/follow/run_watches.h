// The messages in progress of runs that other clients watch. In memory only, and bounded.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "state/run_watch.h"

namespace agent_graph::state {

// Thread-safe. No call blocks.
class RunWatches {
 public:
  using Key = std::pair<std::string, std::string>;  // thread and run

  // The numbers of watches begin above `first_watch`, so that two executors give different ones.
  explicit RunWatches(uint64_t first_watch) : next_watch_(first_watch) {}

  // Notes that a client watches the run until `until`. Returns the watch's number if the client
  // that executes the run under this lease must be notified.
  std::optional<uint64_t> Join(const Key& run, uint64_t lease_epoch, Deadline until);
  // The number of each watched run.
  std::vector<std::pair<Key, uint64_t>> All() const;

  // The part of a watched run that this host has. Its fields are those of WatchRunRequest.
  struct Known {
    Key run;
    uint64_t lease_epoch = 0;
    std::string message_id = {};
    uint64_t reasoning_bytes = 0;
    uint64_t text_bytes = 0;
  };
  std::vector<Known> AllKnown() const;
  std::optional<Known> KnownOf(const Key& run) const;

  PublishPieceReply Publish(const PublishPieceRequest& request);
  struct Kept {
    uint64_t lease_epoch = 0;
    MessagePiece piece;
  };
  // Returns what is kept of the run's message behind the caller's part; nullopt: no message.
  std::optional<Kept> Find(const WatchRunRequest& watch) const;

  // The functions below answer most requests of watchers, which are about the next piece of a
  // message, without a read of the database. A read is needed if the log or the runs of the thread
  // have changed since the last one.
  //
  // Notes that these threads have changed.
  void NoteChanged(const std::vector<std::string>& thread_ids);
  // How often the thread of a watched run has changed; call it before a read.
  uint64_t ChangesOf(const Key& run) const;
  // Notes the result of a read. `changes`: what ChangesOf returned before it.
  void NoteRead(const Key& run, uint64_t changes, const WatchRunReply& reply);
  // The next part of the message that the caller has; nullopt: there is none, or a read is needed.
  std::optional<WatchRunReply> Continue(const WatchRunRequest& watch) const;

  // Forgets runs that no client watches any more.
  void Expire(MonotonicClock::time_point now);
  bool empty() const { return count_ == 0; }
  size_t bytes() const;

 private:
  struct Watch {
    uint64_t number = 0;
    Deadline until;
    uint64_t notified_epoch = 0;  // the lease whose client was notified
    uint64_t lease_epoch = 0;
    bool full = false;  // the message with this id is not kept
    uint64_t changes = 1;
    uint64_t changes_at_read = 0;
    uint64_t log_end = 0;  // as that read has found it
    MessagePiece message;
  };
  void Drop(Watch& watch) AG_REQUIRES(mutex_);
  static Known KnownOf(const Key& run, const Watch& watch);

  std::atomic<size_t> count_{0};
  mutable Mutex mutex_;
  std::map<Key, Watch> watches_ AG_GUARDED_BY(mutex_);
  size_t bytes_ AG_GUARDED_BY(mutex_) = 0;
  uint64_t next_watch_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::state
