// Tokens and calls of a run, counted from its log entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "run/log/log_entry.h"

namespace agent_graph::run {

class RunUsage {
 public:
  void Count(const EntryBody& body);
  // {"input_tokens":…,"output_tokens":…,"model_calls":…,"tool_calls":…}
  std::string ToJson() const;

 private:
  int64_t input_tokens_ = 0;
  int64_t output_tokens_ = 0;
  int64_t model_calls_ = 0;
  int64_t tool_calls_ = 0;  // executed here or handed to the client
  // Hash of the id of the newest model call's message: its entry repeats the tokens.
  size_t counted_message_ = 0;
};

}  // namespace agent_graph::run
