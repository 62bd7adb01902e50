// The lines of a stream: one StreamChunk each, every key present, compact, ended by a newline.
//
// Written directly, without a JSON tree: a line costs little more than the copy of its bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "run/runner.h"

namespace agent_graph::api {

class StreamChunkWriter {
 public:
  explicit StreamChunkWriter(const run::RunStart& start);

  std::string Line(const run::RunEvent& event, double timestamp) const;
  // The same for a piece of a message, as often as a model produces one.
  void AppendLine(std::string& out, const run::RunDelta& delta, int64_t unix_micros) const;
  // The last line: updates with data.status "done". `state_json` and `thread_name` may be empty.
  std::string DoneLine(std::string_view state_json, std::string_view thread_name,
                       double timestamp) const;

 private:
  struct Chunk {
    std::string_view event;
    std::string_view message;  // JSON or empty: null
    std::string_view state;
    std::string_view data;
    std::string_view node;
    int step = -1;  // negative: none
    std::string_view thread_name;
  };
  std::string Write(const Chunk& chunk, double timestamp) const;
  void AppendMetadata(std::string& out, std::string_view node, int step) const;

  std::string identity_;  // `,"thread_id":…,"run_id":…,"metadata":{"is_new_thread":…,"thread_id":…`
};

}  // namespace agent_graph::api
