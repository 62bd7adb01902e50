// Writes the message in progress of an accepted run to the run's log, piece by piece, so that all
// of its readers get the same pieces, also after the worker has died.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "run/host/live_run.h"
#include "runtime/cancellation.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::run {

// Reads a LiveRun as a follower does, on a fiber of its own, so that the run does not wait for it.
// Pieces that arrive within a short time are written together.
class PieceLog {
 public:
  PieceLog(state::Service& state, std::shared_ptr<const LiveRun> live, std::string thread_id,
           std::string run_id);

  // Writes until the run ends, leaves this worker, or has lost its lease.
  void Write();

 private:
  // The next piece to write; nullopt: none yet.
  std::optional<state::AppendRunRequest> Next(const LiveRun::View& view) const;

  state::Service& state_;
  const std::shared_ptr<const LiveRun> live_;
  const std::string thread_id_;
  const std::string run_id_;
  const runtime::Cancellation never_;
  // The part that is written.
  std::string message_id_;
  uint64_t reasoning_bytes_ = 0;
  uint64_t text_bytes_ = 0;
};

}  // namespace agent_graph::run
