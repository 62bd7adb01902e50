// Writes the lines of a stream: one StreamChunk per line, with every key, compact, and with a final
// newline.
//
// The text is written directly, without a JSON tree, so a line costs little more than copying its
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "message/codec.h"
#include "run/run_sink.h"

namespace agent_graph::api {

// The content of a stream's last line. The texts may be empty.
struct StreamEnd {
  run::RunStatus outcome = run::RunStatus::kDone;
  std::string_view interrupt_json = {};  // set if the run was interrupted
  std::string_view state_json = {};
  std::string_view thread_name = {};
  std::string_view reason = {};  // why the stream ends before the run has ended
};

// Positions of the parts that differ between the lines of two pieces of a message, in the string
// that has the line.
struct DeltaLinePlaces {
  message::DeltaPlaces message;
  size_t time = 0;
  size_t after_time = 0;
};

// Writes the lines of one run. Immutable, therefore thread-safe. Timestamps in seconds since 1970.
class StreamChunkWriter {
 public:
  explicit StreamChunkWriter(const run::RunStart& start);

  // Returns the line of an event. `cursor` is the position after it; empty: not known.
  std::string Line(const run::RunEvent& event, double timestamp,
                   std::string_view cursor = {}) const;
  // Appends the line of a message delta; called for each piece that a model produces.
  DeltaLinePlaces AppendLine(std::string& out, const run::RunDelta& delta, int64_t unix_micros,
                             std::string_view cursor = {}) const;
  // Returns the last line: updates with data.status "done", for every outcome, and with
  // data.outcome.
  std::string DoneLine(const StreamEnd& end, double timestamp) const;

 private:
  struct Chunk {
    std::string_view event;
    std::string_view message;  // JSON; empty: null
    std::string_view state;
    std::string_view data;
    std::string_view node;
    int step = -1;  // negative: none
    std::string_view thread_name;
    std::string_view cursor;
  };
  std::string Write(const Chunk& chunk, double timestamp) const;
  void AppendMetadata(std::string& out, std::string_view node, int step,
                      std::string_view cursor) const;

  std::string identity_;  // `,"thread_id":…,"run_id":…,"metadata":{"is_new_thread":…,"thread_id":…`
};

}  // namespace agent_graph::api
