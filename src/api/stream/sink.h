// Converts the events of a run to the lines of a stream, for any transport.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/stream/chunk.h"
#include "api/stream/delta_lines.h"
#include "api/stream/granularity.h"
#include "run/run_sink.h"
#include "runtime/cancellation.h"

namespace agent_graph::api {

// Its methods are called on the run's fiber.
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
  // Ends the stream of a run that has started, for every outcome.
  void Finish(const run::RunOutcome& outcome);
  // Ends the stream of a run that has started but has no outcome.
  void FinishFailed();

 protected:
  ~StreamSink() override = default;

 private:
  virtual void Begin(const run::RunStart& start) = 0;
  // Both get a line with its newline. Send may suspend. SendLast never suspends and sends the lines
  // that end a stream.
  virtual Status Send(std::string_view line) = 0;
  virtual void SendLast(std::string_view line) = 0;

  bool Shows(run::RunEvent::Kind kind) const;

  const Granularity granularity_;
  std::optional<StreamChunkWriter> writer_;
  DeltaLines delta_lines_;
};

// Returns the outcome of a stream for the access log.
std::string StreamOutcome(const run::RunOutcome& outcome, runtime::CancelReason reason);

}  // namespace agent_graph::api
