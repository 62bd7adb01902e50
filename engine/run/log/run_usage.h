// What a run has used, counted from its log entries.
#pragma once

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
  // Message of the newest model call: its entry repeats the tokens.
  std::string counted_message_;
};

}  // namespace agent_graph::run
