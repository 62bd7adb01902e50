#include "ngx_module/request/reply_writer.h"

#include <gtest/gtest.h>

#include <string>

#include "fake_nginx.h"

namespace agent_graph::nginx {
namespace {

class ReplyWriterTest : public testing::Test {
 protected:
  FakeNginx nginx_;
  ReplyWriter writer_{&nginx_.request};
};

TEST_F(ReplyWriterTest, SendsHeadBodyAndEndInOrder) {
  writer_.SetHead({.status = 201});
  EXPECT_EQ(writer_.Flush(), NGX_OK);
  EXPECT_EQ(nginx_.heads, 1);
  writer_.Append("one ");
  EXPECT_EQ(writer_.Flush(), NGX_OK);
  EXPECT_FALSE(nginx_.ended);
  writer_.Append("two");
  writer_.Finish();
  EXPECT_EQ(writer_.Flush(), NGX_OK);
  EXPECT_EQ(nginx_.heads, 1);
  EXPECT_EQ(nginx_.body, "one two");
  EXPECT_TRUE(nginx_.ended);
  EXPECT_EQ(nginx_.request.headers_out.status, 201u);
}

TEST_F(ReplyWriterTest, ReturnsCreditWhenTheBytesHaveLeft) {
  nginx_.blocked = true;
  writer_.SetHead({});
  writer_.Append("12345");
  EXPECT_EQ(writer_.Flush(), NGX_AGAIN);
  EXPECT_EQ(writer_.TakeReleased(), 0u);
  EXPECT_EQ(writer_.unsent_bytes(), 5u);
  EXPECT_EQ(writer_.DiscardUnsent(), 5u);
  EXPECT_EQ(writer_.DiscardUnsent(), 0u) << "they are counted once";
}

TEST_F(ReplyWriterTest, ReturnsCreditOnce) {
  writer_.SetHead({});
  writer_.Append("12345");
  EXPECT_EQ(writer_.Flush(), NGX_OK);
  EXPECT_EQ(writer_.TakeReleased(), 5u);
  EXPECT_EQ(writer_.TakeReleased(), 0u);
  EXPECT_EQ(writer_.DiscardUnsent(), 0u);
}

TEST_F(ReplyWriterTest, KnowsWhenAnAnnouncedBodyIsComplete) {
  writer_.SetHead({.content_length = 5});
  writer_.Append("123");
  EXPECT_TRUE(writer_.lacks_bytes());
  EXPECT_FALSE(writer_.complete());
  writer_.Append("45");
  EXPECT_FALSE(writer_.lacks_bytes());
  EXPECT_TRUE(writer_.complete());
}

using ReplyWriterDeathTest = ReplyWriterTest;

TEST_F(ReplyWriterDeathTest, ABodyFollowsItsHead) {
  EXPECT_DEATH(writer_.Append("x"), "check failed: .*a body follows its head");
  EXPECT_DEATH(writer_.AppendLasting("x"), "a body follows its head");
  EXPECT_DEATH(writer_.AppendFile({}), "a body follows its head");
}

TEST_F(ReplyWriterDeathTest, NothingFollowsTheEndOfABody) {
  writer_.SetHead({});
  writer_.Finish();
  EXPECT_DEATH(writer_.Append("x"), "nothing follows the end of a body");
}

TEST_F(ReplyWriterDeathTest, NothingFollowsASealedBody) {
  writer_.SetHead({.content_length = 5});
  writer_.Seal();
  EXPECT_DEATH(writer_.Append("x"), "nothing follows the end of a body");
}

TEST_F(ReplyWriterDeathTest, AReplyThatEndsHasAHead) {
  EXPECT_DEATH(writer_.Finish(), "a reply that ends has a head");
}

}  // namespace
}  // namespace agent_graph::nginx
