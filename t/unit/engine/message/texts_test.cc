#include "message/texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace agent_graph::message {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Texts, AreThoseOfTextBlocksThatHoldSome) {
  Message message = Message::User("one");
  EXPECT_EQ(JoinedTexts(message), "one");
  message.content.emplace_back(TextBlock{});
  message.content.emplace_back(ReasoningBlock{});
  message.content.emplace_back(TextBlock{.text = "two"});
  EXPECT_THAT(Texts(message), ElementsAre("one", "two"));
  EXPECT_EQ(JoinedTexts(message), "one\ntwo");
  EXPECT_EQ(JoinedTexts(message, "\n\n"), "one\n\ntwo");
  EXPECT_THAT(Texts(Message()), IsEmpty());
  EXPECT_EQ(JoinedTexts(Message()), "");
}

}  // namespace
}  // namespace agent_graph::message
