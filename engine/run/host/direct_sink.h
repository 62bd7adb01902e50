// Passes the events of a connected client's run to the client, and to those that follow the run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "run/host/live_run.h"
#include "run/host/local_runs.h"
#include "run/run_sink.h"

namespace agent_graph::run {

// The run waits for its client, but for no follower.
class DirectSink final : public RunSink {
 public:
  DirectSink(RunSink& client, LocalRuns& runs) : client_(client), runs_(runs) {}
  ~DirectSink() override;
  DirectSink(const DirectSink&) = delete;
  DirectSink& operator=(const DirectSink&) = delete;

  Status OnStart(const RunStart& start) override;
  Status OnEvent(const RunEvent& event) override;
  Status OnDelta(const RunDelta& delta) override;
  void OnStored(uint64_t log_end) override;
  void OnHeld(uint64_t thread_bytes, uint64_t reply_bytes) override;
  Status AwaitHeld(uint64_t thread_bytes, uint64_t reply_bytes) override {
    return client_.AwaitHeld(thread_bytes, reply_bytes);
  }
  Status AwaitMemory(uint64_t thread_bytes) override { return client_.AwaitMemory(thread_bytes); }
  bool wants_deltas() const override { return collects_ || client_.wants_deltas(); }
  bool wants_states() const override { return client_.wants_states(); }
  bool wants_messages() const override { return client_.wants_messages(); }
  bool wants_final_state() const override { return client_.wants_final_state(); }

 private:
  void SetStored(uint64_t log_end);
  void Count(uint64_t bytes);

  RunSink& client_;
  LocalRuns& runs_;
  std::string thread_id_;
  std::string run_id_;
  std::shared_ptr<LiveRun> live_;  // null: nothing of the run is stored, so it cannot be followed
  // Pieces go to live_. If the client wants none, they are made only while the run is followed, and
  // from the next node on, because a node that has shown pieces is not retried.
  bool collects_ = false;
  uint64_t counted_ = 0;  // bytes of the message in progress
};

}  // namespace agent_graph::run
