// A run as its followers in this worker see it: how far its log has grown, and the
// message that the model is producing. A run of another worker has one as well; see remote_run.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "run/run_sink.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"

namespace agent_graph::run {

// Limit on the text of a message that is not in the log yet. Followers get the rest of a larger
// one when it is stored.
inline constexpr size_t kPartialBytesMax = 64 * 1024 * 1024;

// Thread-safe. The run never waits for a follower: followers read what there is, and skip to the
// log when they are late.
class LiveRun {
 public:
  // `unfollowed_bytes_max`: the same limit while the run is not followed.
  explicit LiveRun(size_t unfollowed_bytes_max = kPartialBytesMax)
      : unfollowed_bytes_max_(unfollowed_bytes_max) {}

  // A message that is not in the log yet.
  struct Partial {
    std::string message_id;
    std::string node;
    int step = 0;
    std::string reasoning;
    std::string text;
  };
  struct View {
    uint64_t version = 0;      // changes with everything else
    uint64_t lease_epoch = 0;  // 0: the run has not begun yet
    uint64_t log_end = 0;      // index after the last entry that is in the log and has an event
    // Parts of the partial message behind the given offsets; nullopt: no message is in progress.
    std::optional<Partial> partial;
    bool ended = false;  // this attempt has ended or left
  };

  // `message_id`, `reasoning_bytes`, `text_bytes`: what the follower already has of a partial
  // message; for another message the whole text is returned.
  View Read(const std::string& message_id, uint64_t reasoning_bytes, uint64_t text_bytes) const;
  // Suspends until the version is no longer `version`. kDeadlineExceeded, kCancelled.
  Status Await(uint64_t version, const runtime::Cancellation& cancellation,
               Deadline deadline) const;

  // Followers have asked for the run, at any time.
  void SetFollowed() { followed_.store(true, std::memory_order_relaxed); }
  bool is_followed() const { return followed_.load(std::memory_order_relaxed); }

  // Wakes one follower in Await, so that it takes over the work of a follower that has stopped. If
  // a follower is about to call Await with an earlier version, that call returns at once.
  void WakeOne();

  // --- called by the run ---

  // Starts an attempt; the message of an earlier one is void.
  void Begin(const RunStart& start);
  // A message that another one has followed takes no further pieces: followers have lost its
  // beginning. They get the rest when the message is stored.
  void AddPiece(const RunDelta& delta);
  // The entries before `log_end` are stored (0: not known), and with them the partial message.
  void SetStored(uint64_t log_end);
  void End();
  // Size of the partial message.
  uint64_t partial_bytes() const;

 private:
  void Changed() AG_REQUIRES(mutex_);
  void DropPartial() AG_REQUIRES(mutex_);

  const size_t unfollowed_bytes_max_;
  std::atomic<bool> followed_{false};
  mutable Mutex mutex_;
  uint64_t version_ AG_GUARDED_BY(mutex_) = 1;
  uint64_t lease_epoch_ AG_GUARDED_BY(mutex_) = 0;
  uint64_t log_end_ AG_GUARDED_BY(mutex_) = 0;
  std::optional<Partial> partial_ AG_GUARDED_BY(mutex_);
  // Messages of the node in progress that others have followed.
  std::vector<std::string> left_ AG_GUARDED_BY(mutex_);
  bool is_full_ AG_GUARDED_BY(mutex_) = false;  // the partial message grows no more
  bool ended_ AG_GUARDED_BY(mutex_) = false;
  // Signals of followers in Await, notified and removed with the lock held, because a signal is
  // destroyed when its follower goes on.
  mutable std::vector<runtime::Signal*> waiting_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::run
