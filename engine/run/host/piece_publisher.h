// Publishes the message in progress of an accepted run of this worker, for followers in others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "run/host/live_run.h"
#include "runtime/cancellation.h"
#include "state/run_watch.h"
#include "state/service.h"

namespace agent_graph::run {

// Reads a LiveRun as a follower does, on a fiber of its own, so that the run does not wait for it.
// Pieces that arrive within a few milliseconds are sent together.
class PiecePublisher {
 public:
  PiecePublisher(state::Service& state, std::shared_ptr<const LiveRun> live, std::string thread_id,
                 std::string run_id);

  // Publishes until the run leaves this worker, or the state says that no client watches and
  // `stops` agrees. `stops` gets the number of the watch before that answer was asked for.
  void Publish(const std::function<uint64_t()>& watch,
               const std::function<bool(uint64_t watch)>& stops);

 private:
  // The next piece to send; nullopt: none yet.
  std::optional<state::PublishPieceRequest> Next(const LiveRun::View& view);
  void Take(const state::PublishPieceReply& reply);

  state::Service& state_;
  const std::shared_ptr<const LiveRun> live_;
  const std::string thread_id_;
  const std::string run_id_;
  const runtime::Cancellation never_;
  // The part that the state has.
  std::string message_id_;
  uint64_t reasoning_bytes_ = 0;
  uint64_t text_bytes_ = 0;
  bool full_ = false;  // the state does not keep this message
};

}  // namespace agent_graph::run
