#include "run/log/run_usage.h"

#include <gtest/gtest.h>

namespace agent_graph::run {
namespace {

const entry::CallRef kUsedCall{.node = "TOOLS", .tool = "weather", .call_id = "c1"};

entry::MessageAdded MessageWithUsage(std::string id, std::string node) {
  entry::MessageAdded message;
  message.message_id = std::move(id);
  message.node = std::move(node);
  message.usage = Usage{.prompt_tokens = 3, .completion_tokens = 2};
  return message;
}

TEST(RunUsage, NothingIsUsedAtFirst) {
  EXPECT_EQ(RunUsage().ToJson(),
            R"({"input_tokens":0,"output_tokens":0,"model_calls":0,"tool_calls":0})");
}

TEST(RunUsage, AModelCallAndItsMessageCountOnce) {
  RunUsage usage;
  entry::ModelFinished finished;
  finished.reply.emplace();
  finished.reply->message_id = "m1";
  finished.reply->input_tokens = 3;
  finished.reply->output_tokens = 2;
  usage.Count(finished);
  usage.Count(MessageWithUsage("m1", "A"));
  EXPECT_EQ(usage.ToJson(),
            R"({"input_tokens":3,"output_tokens":2,"model_calls":1,"tool_calls":0})");
}

TEST(RunUsage, CallsInWhichAnAttemptHasEndedCount) {
  RunUsage usage;
  for (const char* id : {"ended", "lost"}) {
    usage.Count(entry::ToolIntent{.call = {.tool = "weather", .call_id = id}});
  }
  usage.Count(entry::ToolStarted{.call = {.tool = "weather", .call_id = "ended"}});
  EXPECT_EQ(usage.tool_calls(), 1);
  usage.Count(entry::AttemptStarted{.attempt = 2});
  EXPECT_EQ(usage.tool_calls(), 2);
  usage.EndAttempt();
  EXPECT_EQ(usage.tool_calls(), 2);
}

TEST(RunUsage, CallsWhoseMessagesComeTogetherCountOnce) {
  RunUsage usage;
  for (const char* id : {"m1", "m2"}) {
    usage.Count(entry::ModelFinished{.reply = entry::ModelFinished::Reply{
                                         .message_id = id, .input_tokens = 3, .output_tokens = 2}});
  }
  usage.Count(MessageWithUsage("m1", "A"));
  usage.Count(MessageWithUsage("m2", "A"));
  EXPECT_EQ(usage.model_calls(), 2);
  EXPECT_EQ(usage.tokens(), 10);
}

TEST(RunUsage, CostsAndFailedCallsAreAdded) {
  RunUsage usage;
  entry::ModelFinished finished;
  finished.reply.emplace();
  finished.reply->input_tokens = 3;
  finished.reply->cost_nano_usd = 1'500'000;
  usage.Count(finished);
  usage.Count(entry::ModelFailed{.input_tokens = 4, .output_tokens = 1, .cost_nano_usd = 500'000});
  usage.Count(entry::ModelLost{.input_tokens = 7});
  EXPECT_EQ(usage.tokens(), 15);
  EXPECT_EQ(usage.failed_calls(), 2);
  EXPECT_EQ(usage.ToJson(),
            R"({"input_tokens":14,"output_tokens":1,"model_calls":1,"tool_calls":0,)"
            R"("cost_usd":0.002})");
}

TEST(RunUsage, AFunctionsOwnModelCallCounts) {
  RunUsage usage;
  usage.Count(MessageWithUsage("m1", "A"));
  usage.Count(MessageWithUsage("m2", ""));  // usage in a message of the request
  EXPECT_EQ(usage.ToJson(),
            R"({"input_tokens":3,"output_tokens":2,"model_calls":1,"tool_calls":0})");
}

TEST(RunUsage, ToolCallsCountIfTheyAreMade) {
  RunUsage usage;
  usage.Count(entry::ToolIntent{.call = kUsedCall, .idempotency_key = "k"});
  usage.Count(entry::ToolStarted{.call = kUsedCall});
  usage.Count(entry::ToolFinished{.call = kUsedCall});
  usage.Count(entry::ToolIntent{.call = kUsedCall, .idempotency_key = "k", .remote = true});
  usage.Count(entry::ToolFinished{.call = kUsedCall, .is_error = true});  // was refused
  EXPECT_EQ(usage.ToJson(),
            R"({"input_tokens":0,"output_tokens":0,"model_calls":0,"tool_calls":2})");
}

}  // namespace
}  // namespace agent_graph::run
