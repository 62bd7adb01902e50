#include "run/log/run_usage.h"

#include <gtest/gtest.h>

namespace agent_graph::run {
namespace {

const entry::CallRef kUsedCall{.node = "TOOLS", .tool = "weather", .call_id = "c1"};

entry::MessageAdded MessageWithUsage(std::string id, std::string node) {
  return {.message_id = std::move(id),
          .node = std::move(node),
          .role = "assistant",
          .usage = Usage{.prompt_tokens = 3, .completion_tokens = 2}};
}

TEST(RunUsage, NothingIsUsedAtFirst) {
  EXPECT_EQ(RunUsage().ToJson(),
            R"({"input_tokens":0,"output_tokens":0,"model_calls":0,"tool_calls":0})");
}

TEST(RunUsage, AModelCallAndItsMessageCountOnce) {
  RunUsage usage;
  usage.Count(entry::ModelFinished{.node = "A",
                                   .reply = entry::ModelFinished::Reply{
                                       .message_id = "m1", .input_tokens = 3, .output_tokens = 2}});
  usage.Count(MessageWithUsage("m1", "A"));
  EXPECT_EQ(usage.ToJson(),
            R"({"input_tokens":3,"output_tokens":2,"model_calls":1,"tool_calls":0})");
}

TEST(RunUsage, AFunctionsOwnModelCallCounts) {
  RunUsage usage;
  usage.Count(MessageWithUsage("m1", "A"));
  usage.Count(MessageWithUsage("m2", ""));  // of the request
  EXPECT_EQ(usage.ToJson(),
            R"({"input_tokens":3,"output_tokens":2,"model_calls":1,"tool_calls":0})");
}

TEST(RunUsage, ToolCallsCountIfTheyAreMade) {
  RunUsage usage;
  usage.Count(entry::ToolIntent{.call = kUsedCall});
  usage.Count(entry::ToolStarted{.call = kUsedCall});
  usage.Count(entry::ToolFinished{.call = kUsedCall});
  usage.Count(entry::ToolIntent{.call = kUsedCall, .remote = true});
  usage.Count(entry::ToolFinished{.call = kUsedCall, .is_error = true});  // was refused
  EXPECT_EQ(usage.ToJson(),
            R"({"input_tokens":0,"output_tokens":0,"model_calls":0,"tool_calls":2})");
}

}  // namespace
}  // namespace agent_graph::run
