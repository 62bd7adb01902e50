// The events of a run as the lines of this API's streams.
#pragma once

#include <optional>
#include <string_view>

#include "api/stream/chunk.h"
#include "api/stream/framing.h"
#include "api/stream/granularity.h"
#include "api/stream/run_reader.h"

namespace agent_graph::api {

class LineReader : public RunReader {
 public:
  // `delta_cursors`: metadata.cursor in every delta; false: only in the first delta of a message.
  explicit LineReader(Granularity granularity = Granularity::kLow, bool delta_cursors = true)
      : granularity_(granularity), delta_cursors_(delta_cursors) {}

  Status OnStart(const run::RunStart& start, const state::RunRecord* record) final;
  Status OnDelta(const run::RunDelta& delta, const EventPlace& place, bool is_first) final;
  Status OnMessage(const MessageEvent& message, const EventPlace& place) final;
  Status OnNodeFinished(std::string_view node, int step, const EventPlace& place) final;
  Status OnReset(std::string_view message_id, uint32_t attempt) final;
  Status OnError(const RunError& error, const EventPlace& place) final;
  Status OnEnd(const RunEnd& end, const EventPlace& place) final;
  Status OnIdle() final { return SendHeartbeat(); }

 private:
  // Each may suspend.
  virtual Status Send(const StreamLine& line) = 0;
  virtual Status SendHeartbeat() = 0;

  const Granularity granularity_;
  const bool delta_cursors_;
  std::optional<StreamChunkWriter> writer_;
};

}  // namespace agent_graph::api
