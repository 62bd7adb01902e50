// Tokens and calls of a run, counted from its log entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>

#include "run/log/log_entry.h"

namespace agent_graph::run {

class RunUsage {
 public:
  void Count(const EntryBody& body);
  // An attempt of the run has ended, perhaps within calls: their start is logged when they end.
  void EndAttempt();
  // {"input_tokens":…,"output_tokens":…,"model_calls":…,"tool_calls":…}, and "cost_usd" if there
  // are costs.
  std::string ToJson() const;

  int64_t tokens() const { return input_tokens_ + output_tokens_; }
  int64_t model_calls() const { return model_calls_; }
  // Model calls that failed or were lost; not included in model_calls().
  int64_t failed_calls() const { return failed_calls_; }
  int64_t tool_calls() const { return tool_calls_; }
  int64_t cost_nano_usd() const { return cost_nano_usd_; }

 private:
  int64_t input_tokens_ = 0;
  int64_t output_tokens_ = 0;
  int64_t model_calls_ = 0;
  int64_t failed_calls_ = 0;
  int64_t cost_nano_usd_ = 0;
  int64_t tool_calls_ = 0;  // executed here or handed to the client
  // Hashes of the ids of messages whose tokens were counted with their model call. The entry of
  // such a message has the same tokens, and is not counted again.
  std::unordered_set<size_t> counted_messages_;
  // Hashes of the ids of calls that may have begun, and have not ended.
  std::unordered_set<size_t> intended_calls_;
};

}  // namespace agent_graph::run
