// Writes the lines of the pieces of a message as a model produces them.
//
// The lines of two pieces differ only in the piece and in the times. The writer therefore keeps a
// line and copies its other parts into the next one, which takes a third of the time. It does so
// only while pieces follow each other within milliseconds, so that a slow stream keeps no line.
#pragma once

#include <cstdint>
#include <string>

#include "api/stream/chunk.h"
#include "run/run_sink.h"

namespace agent_graph::api {

// For one stream, used by one fiber at a time.
class DeltaLines {
 public:
  // Appends the line that `writer` would append. `writer` must always be the same.
  void Append(std::string& out, const StreamChunkWriter& writer, const run::RunDelta& delta,
              int64_t unix_micros);

 private:
  bool Repeats(const run::RunDelta& delta) const;
  // Writes both times of the line again.
  void SetTimes(int64_t unix_micros);
  void Forget();
  void Remember(std::string_view line, const run::RunDelta& delta);

  std::string line_;         // empty: none that can be repeated
  int64_t last_micros_ = 0;  // time of the last piece
  DeltaLinePlaces places_;
  // The message, node, step and kind of the piece in `line_`.
  std::string message_id_;
  std::string node_;
  int step_ = 0;
  bool is_reasoning_ = false;
};

}  // namespace agent_graph::api
