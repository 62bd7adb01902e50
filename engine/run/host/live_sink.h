// Passes the events of an accepted run to its LiveRun, and counts the memory that the run holds.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "run/host/live_run.h"
#include "run/host/run_host.h"
#include "run/run_sink.h"
#include "runtime/cancellation.h"

namespace agent_graph::run {

class LiveSink final : public RunSink {
 public:
  // `deadline`: of the run. `start` is released when the run has been loaded. `held_bytes` are
  // counted already, and now belong to the sink.
  LiveSink(LiveRun& live, const runtime::Cancellation& cancellation, Deadline deadline,
           const RunHostOptions& options, std::shared_ptr<void> start, uint64_t held_bytes)
      : live_(live),
        cancellation_(cancellation),
        deadline_(deadline),
        options_(options),
        start_(std::move(start)),
        held_(held_bytes) {}
  ~LiveSink() override { Hold(0); }
  LiveSink(const LiveSink&) = delete;
  LiveSink& operator=(const LiveSink&) = delete;

  Status OnStart(const RunStart& start) override;
  Status OnEvent(const RunEvent& event) override;
  Status OnDelta(const RunDelta& delta) override;
  void OnStored(uint64_t log_end) override { live_.SetStored(log_end); }
  void OnHeld(uint64_t thread_bytes, uint64_t reply_bytes) override;
  Status AwaitHeld(uint64_t thread_bytes, uint64_t reply_bytes) override;
  Status AwaitMemory(uint64_t thread_bytes) override;
  bool wants_deltas() const override { return true; }
  bool wants_states() const override { return false; }
  bool wants_messages() const override { return false; }
  bool wants_final_state() const override { return false; }

 private:
  Status Await(uint64_t bytes);
  uint64_t MemoryOf(uint64_t thread_bytes, uint64_t reply_bytes) const;
  void Hold(uint64_t bytes);

  LiveRun& live_;
  const runtime::Cancellation& cancellation_;
  const Deadline deadline_;
  const RunHostOptions& options_;
  std::shared_ptr<void> start_;
  uint64_t held_;
};

}  // namespace agent_graph::run
