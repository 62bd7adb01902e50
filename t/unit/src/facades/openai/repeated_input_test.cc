#include "facades/openai/repeated_input.h"
#include "facades/run/attachments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace agent_graph::openai {
namespace {

using testing::ElementsAre;

Message Calls(const std::string& id) {
  Message message = Message::Assistant("");
  message.content = {ToolCallBlock{id, "f", "{}"}};
  return message;
}

Message Result(const std::string& id) {
  return Message::ToolResult(id, "1");
}

// The texts of messages, and the ids of results.
std::vector<std::string> Shown(const std::vector<Message>& messages) {
  std::vector<std::string> shown;
  for (const Message& message : messages) {
    const auto results = message.ToolResults();
    shown.push_back(results.empty() ? message.Text() : results.front()->call_id);
  }
  return shown;
}

std::vector<std::string> Dropped(const std::vector<Message>& conversation,
                                 std::vector<Message> input) {
  DropRepeated(conversation, input);
  return Shown(input);
}

TEST(RepeatedInput, OnlyMessagesBeforeResultsMayRepeat) {
  EXPECT_FALSE(MayRepeat({}));
  EXPECT_FALSE(MayRepeat({Message::User("a")}));
  EXPECT_FALSE(MayRepeat({Result("c1"), Result("c2")}));
  EXPECT_FALSE(MayRepeat({Result("c1"), Message::User("a")}));
  EXPECT_TRUE(MayRepeat({Message::User("a"), Result("c1")}));
}

TEST(RepeatedInput, DropsTheQuestionAndEarlierResults) {
  std::vector<Message> conversation = {Message::User("a"), Calls("c1")};
  EXPECT_THAT(Dropped(conversation, {Message::User("a"), Result("c1")}), ElementsAre("c1"));
  conversation.insert(conversation.end(), {Result("c1"), Calls("c2")});
  EXPECT_THAT(Dropped(conversation, {Message::User("a"), Result("c1"), Result("c2")}),
              ElementsAre("c2"));
  EXPECT_THAT(Dropped(conversation, {Message::User("a"), Result("c1"), Message::User("b")}),
              ElementsAre("b"));
}

Message Attached(const std::vector<std::string>& calls) {
  Message attachments;
  for (const std::string& call : calls) {
    MediaBlock image;
    image.media.url = "https://example.com/" + call;
    facades::Attach(call, {image}, attachments);
  }
  return attachments;
}

TEST(RepeatedInput, DropsAttachmentsOfEarlierResults) {
  const std::vector<Message> conversation = {Message::User("a"), Calls("c1"), Result("c1"),
                                             Attached({"c1"}), Calls("c2")};
  std::vector<Message> input = {Message::User("a"), Result("c1"), Attached({"c1"}), Result("c2"),
                                Attached({"c2"})};
  DropRepeated(conversation, input);
  ASSERT_THAT(Shown(input), ElementsAre("c2", "Attached to the result of the call c2:"));
  input = {Message::User("a"), Result("c1"), Result("c2"), Attached({"c1", "c2"})};
  DropRepeated(conversation, input);
  ASSERT_THAT(Shown(input), ElementsAre("c2", "Attached to the result of the call c2:"));
  EXPECT_EQ(std::get<MediaBlock>(input[1].content.at(1)).media.url, "https://example.com/c2");
  EXPECT_EQ(input[1].content.size(), 2u);
}

TEST(RepeatedInput, KeepsQuestionsThatAreOthers) {
  const std::vector<Message> conversation = {Message::User("a"), Calls("c1")};
  EXPECT_THAT(Dropped(conversation, {Message::User("b"), Result("c1")}), ElementsAre("b", "c1"));
  EXPECT_THAT(Dropped(conversation, {Message::User("b"), Message::User("a"), Result("c1")}),
              ElementsAre("b", "a", "c1"));
  EXPECT_THAT(Dropped(conversation, {Message::User("a"), Message::User("b"), Result("c1")}),
              ElementsAre("a", "b", "c1"));
}

TEST(RepeatedInput, LeavesAnInputWithoutAnythingNew) {
  const std::vector<Message> conversation = {Message::User("a"), Calls("c1"), Result("c1"),
                                             Message::Assistant("done")};
  EXPECT_THAT(Dropped(conversation, {Message::User("a"), Result("c1")}), ElementsAre("a", "c1"));
}

}  // namespace
}  // namespace agent_graph::openai
