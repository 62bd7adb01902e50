#include "models/signature.h"

#include <gtest/gtest.h>

namespace agent_graph::models {
namespace {

TEST(Signature, IsForItsOwnerOnly) {
  const std::string marked = MarkSignature("anthropic", "abc/+=");
  EXPECT_EQ(SignatureOf("anthropic", marked), "abc/+=");
  EXPECT_FALSE(SignatureOf("gemini", marked));
  EXPECT_FALSE(SignatureOf("anthropic-redacted", marked));
}

TEST(Signature, UnmarkedPassesAndNoneIsNone) {
  EXPECT_EQ(SignatureOf("gemini", "abc"), "abc");
  EXPECT_FALSE(SignatureOf("gemini", ""));
}

}  // namespace
}  // namespace agent_graph::models
