// Invariants of the reply writer that its own functions cannot break.
#include <gtest/gtest.h>

#include "fake_nginx.h"
#include "ngx_module/request/reply_writer.h"

namespace agent_graph::nginx {
namespace {

class ReplyWriterInvariantDeathTest : public testing::Test {
 protected:
  FakeNginx nginx_;
  ReplyWriter writer_{&nginx_.request};
};

TEST_F(ReplyWriterInvariantDeathTest, AReplyHasOneHead) {
  EXPECT_DEATH((void)writer_.SendHead(), "check failed: .*a reply has one head");
  writer_.SetHead({});
  EXPECT_EQ(writer_.Flush(), NGX_OK);
  EXPECT_DEATH((void)writer_.SendHead(), "a reply has one head");
}

TEST_F(ReplyWriterInvariantDeathTest, NginxGetsNothingBehindTheLastBuffer) {
  writer_.SetHead({});
  writer_.Append("x");
  writer_.head_sent_ = writer_.last_sent_ = true;
  EXPECT_DEATH((void)writer_.NextChain(), "nginx gets nothing behind the last buffer");
}

}  // namespace
}  // namespace agent_graph::nginx
