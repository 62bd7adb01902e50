#include "run/context/dangling_calls.h"

#include <gmock/gmock.h>

#include "message/codec.h"

namespace agent_graph::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Message Named(std::string id, Message message) {
  message.id = std::move(id);
  return message;
}

Message Calling(std::string id, std::vector<std::string> calls, const std::string& text = "") {
  Message message = Message::Assistant(text);
  if (text.empty()) message.content.clear();
  message.id = std::move(id);
  for (std::string& call : calls) {
    message.content.emplace_back(ToolCallBlock{std::move(call), "tool", "{}"});
  }
  return message;
}

Message Answering(std::string id, const std::string& call) {
  return Named(std::move(id), Message::ToolResult(call, "1"));
}

TEST(DanglingMessages, KeepsWhatIsValid) {
  EXPECT_THAT(DanglingMessages(std::vector<Message>{}), IsEmpty());
  EXPECT_THAT(DanglingMessages({Named("u", Message::User("x")), Calling("a", {"c1", "c2"}),
                                Answering("r1", "c1"), Answering("r2", "c2"),
                                Named("b", Message::Assistant("done"))}),
              IsEmpty());
}

TEST(DanglingMessages, RemovesCallsWithoutAResult) {
  EXPECT_THAT(DanglingMessages({Named("u", Message::User("x")), Calling("a", {"c1"}, "text too")}),
              ElementsAre("a"));
}

TEST(DanglingMessages, RemovesTheResultsOfARemovedCall) {
  EXPECT_THAT(DanglingMessages({Calling("a", {"c1", "c2"}), Answering("r1", "c1")}),
              ElementsAre("a", "r1"));
}

TEST(DanglingMessages, RemovesResultsWithoutACall) {
  Message mixed = Message::User("and by the way");
  mixed.id = "mixed";
  mixed.content.emplace_back(ToolResultBlock{"gone", "1", false});
  EXPECT_THAT(DanglingMessages({Answering("r", "gone"), mixed}), ElementsAre("r"));
}

TEST(DanglingMessages, AResultBeforeItsCallAnswersNothing) {
  EXPECT_THAT(DanglingMessages({Answering("r", "c1"), Calling("a", {"c1"})}),
              ElementsAre("r", "a"));
}

TEST(DanglingMessages, ACallForTheClientFollowsItsOriginal) {
  Message remote;
  remote.id = "remote";
  remote.role = Role::kTool;
  remote.content.emplace_back(ToolCallBlock{"c1", "tool", "{}", true});
  EXPECT_THAT(DanglingMessages({Calling("a", {"c1"}), remote}), ElementsAre("a", "remote"));
  EXPECT_THAT(DanglingMessages({Calling("a", {"c1"}), remote, Answering("r", "c1")}), IsEmpty());
}

TEST(DanglingMessages, AMessageWithoutContentIsLeftAlone) {
  Message empty;
  empty.id = "empty";
  empty.role = Role::kAssistant;
  EXPECT_THAT(DanglingMessages({empty, Answering("r", "gone")}), ElementsAre("r"));
}

TEST(DanglingMessages, StoredMessagesAreNamedByTheirIds) {
  const Message calling = Calling("inside", {"c1"});
  const std::vector<state::StoredMessage> window = {
      {"u", 1, message::ToJsonText(Message::User("x"))}, {"a", 2, message::ToJsonText(calling)}};
  const auto dangling = DanglingMessages(window);
  ASSERT_TRUE(dangling.ok());
  EXPECT_THAT(*dangling, ElementsAre("a"));
  EXPECT_FALSE(DanglingMessages(std::vector<state::StoredMessage>{{"u", 1, "{broken"}}).ok());
}

}  // namespace
}  // namespace agent_graph::run
