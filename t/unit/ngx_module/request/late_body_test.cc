#include "ngx_module/request/late_body.h"

#include <gtest/gtest.h>

namespace agent_graph::nginx {
namespace {

using Phase = LateBody::Phase;

LateBody Reading() {
  LateBody body;
  body.Expect();
  body.Grant(10);
  body.BeginReading();
  return body;
}

TEST(LateBodyTest, IsReadOnlyAfterTheEngineHasAsked) {
  LateBody body;
  EXPECT_TRUE(body.is_none());
  body.Expect();
  EXPECT_EQ(body.phase(), Phase::kUnread);
  body.Grant(0);
  EXPECT_EQ(body.phase(), Phase::kWanted);
  body.BeginReading();
  EXPECT_EQ(body.phase(), Phase::kReading);
  body.End();
  EXPECT_TRUE(body.is_none());
}

TEST(LateBodyTest, ABodyThatCameWithTheHeadIsNotReadAgain) {
  LateBody body;
  body.Grant(10);
  EXPECT_TRUE(body.is_none());
}

TEST(LateBodyTest, AReplyThatHasBegunStopsABodyThatWasWanted) {
  LateBody body;
  body.Expect();
  body.Grant(10);
  body.Refuse();
  EXPECT_EQ(body.phase(), Phase::kUnread);
}

TEST(LateBodyTest, StallsWithoutCreditAndResumesWithIt) {
  LateBody body = Reading();
  body.UseCredit(25);  // nginx may have read more than was granted
  EXPECT_EQ(body.credit(), 0U);
  body.Stall();
  body.Grant(5);
  EXPECT_EQ(body.phase(), Phase::kStalled);
  EXPECT_EQ(body.credit(), 5U);
  body.Resume();
  EXPECT_EQ(body.phase(), Phase::kReading);
}

TEST(LateBodyDeathTest, PhasesThatCannotFollowEndTheProcess) {
  LateBody unread;
  unread.Expect();
  EXPECT_DEATH(unread.BeginReading(), "late body");
  EXPECT_DEATH(unread.Stall(), "late body");
  LateBody reading = Reading();
  EXPECT_DEATH(reading.Expect(), "late body");
  reading.End();
  EXPECT_DEATH(reading.Resume(), "late body");
}

}  // namespace
}  // namespace agent_graph::nginx
