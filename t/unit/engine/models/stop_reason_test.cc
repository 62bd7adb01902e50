#include "models/stop_reason.h"

#include <gtest/gtest.h>

namespace agent_graph::models {
namespace {

TEST(StopReason, IsOneSetForAllProviders) {
  for (const char* reason : {"stop", "end_turn", "stop_sequence", "STOP"}) {
    EXPECT_EQ(StopReason(reason), "stop") << reason;
  }
  for (const char* reason : {"tool_calls", "function_call", "tool_use", "FUNCTION_CALL"}) {
    EXPECT_EQ(StopReason(reason), "tool_calls") << reason;
  }
  for (const char* reason :
       {"length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded"}) {
    EXPECT_EQ(StopReason(reason), "length") << reason;
  }
  for (const char* reason : {"content_filter", "refusal", "SAFETY", "RECITATION", "BLOCKLIST",
                             "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"}) {
    EXPECT_EQ(StopReason(reason), "content_filter") << reason;
  }
  for (const char* reason : {"OTHER", "pause_turn", "Stop", ""}) {
    EXPECT_EQ(StopReason(reason), "other") << reason;
  }
}

}  // namespace
}  // namespace agent_graph::models
