// The state machine of the link that is prepared while the current one still works.
#include "live/next_link.h"

#include "session_fixture.h"

namespace agent_graph::live {
namespace {

// The fixture's ports count and keep the links that are prepared.
class NextLinkTest : public SessionTest {
 protected:
  NextLink link_under_test_{*this};
};

using NextLinkDeathTest = NextLinkTest;

TEST_F(NextLinkTest, IsPreparedAndTaken) {
  EXPECT_FALSE(link_under_test_.exists());
  link_under_test_.Prepare({});
  EXPECT_EQ(link_under_test_.phase(), NextLink::Phase::kConnecting);
  link_under_test_.OnPrepared();
  EXPECT_EQ(link_under_test_.phase(), NextLink::Phase::kPrepared);
  EXPECT_TRUE(next_);
  link_under_test_.Begin({});
  EXPECT_FALSE(link_under_test_.exists());
  EXPECT_TRUE(link_);
}

TEST_F(NextLinkTest, IsPreparedAgainForAnotherConfiguration) {
  link_under_test_.Prepare({});
  link_under_test_.OnPrepared();
  link_under_test_.Prepare({});
  EXPECT_EQ(link_under_test_.phase(), NextLink::Phase::kConnecting);
  EXPECT_EQ(prepared_, 2);
}

TEST_F(NextLinkTest, IsDroppedOnce) {
  link_under_test_.Drop();
  link_under_test_.Prepare({});
  link_under_test_.Drop();
  EXPECT_FALSE(next_);
  EXPECT_FALSE(link_under_test_.exists());
}

TEST_F(NextLinkDeathTest, MakesNoOtherTransitions) {
  EXPECT_DEATH(link_under_test_.OnPrepared(),
               "the next link is connected, prepared, and then taken or dropped");
  EXPECT_DEATH(link_under_test_.Begin({}),
               "the next link is connected, prepared, and then taken or dropped");
  link_under_test_.Prepare({});
  link_under_test_.OnPrepared();
  EXPECT_DEATH(link_under_test_.OnPrepared(),
               "the next link is connected, prepared, and then taken or dropped");
}

}  // namespace
}  // namespace agent_graph::live
