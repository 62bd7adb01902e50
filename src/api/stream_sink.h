// A run's events as the lines of a stream, whatever carries them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/run_request.h"
#include "api/stream_chunk.h"
#include "run/runner.h"

namespace agent_graph::api {

// On the run's fiber.
class StreamSink : public run::RunSink {
 public:
  explicit StreamSink(Granularity granularity) : granularity_(granularity) {}

  Status OnStart(const run::RunStart& start) final;
  Status OnEvent(const run::RunEvent& event) final;
  Status OnDelta(const run::RunDelta& delta) final;
  bool wants_deltas() const final { return true; }
  bool wants_states() const final { return granularity_ != Granularity::kLow; }
  bool wants_final_state() const final { return granularity_ != Granularity::kLow; }

  bool started() const { return writer_.has_value(); }
  // Ends the stream of a run that started, whatever became of it.
  void Finish(const run::RunOutcome& outcome);

 protected:
  ~StreamSink() override = default;

 private:
  virtual void Begin(const run::RunStart& start) = 0;
  // Both get a line with its newline. SendLast never suspends: it is for what ends a stream.
  virtual Status Send(std::string_view line) = 0;
  virtual void SendLast(std::string_view line) = 0;

  bool Shows(run::RunEvent::Kind kind) const;

  const Granularity granularity_;
  std::optional<StreamChunkWriter> writer_;
};

// How a stream ended, for the access log.
std::string StreamOutcome(const run::RunOutcome& outcome, runtime::CancelReason reason);

}  // namespace agent_graph::api
