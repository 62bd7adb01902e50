// An accepted run that this worker executes, as its followers in the same process see it: how far its
// log has grown, and the message that the model is producing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "runtime/cancellation.h"

namespace agent_graph::run {

// Thread-safe. The run never waits for a follower: followers read what there is, and skip to the
// log when they are late.
class LiveRun {
 public:
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
    uint64_t log_end = 0;      // index after the last entry that is in the log
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
};

}  // namespace agent_graph::run
