#include "run/context/message_ids.h"

#include <gtest/gtest.h>

#include <string>

namespace agent_graph::run {
namespace {

std::string IdAfter(MessageIds& ids, const std::string& id) {
  Message message = Message::Assistant("hi");
  message.id = id;
  ids.Assign(message);
  return message.id;
}

TEST(MessageIdsTest, AnIdOfTheHistoryIsReplaced) {
  const IdGenerator generator;
  MessageIds ids(generator, [](const std::string& id) -> Result<bool> { return id == "old"; });
  EXPECT_EQ(IdAfter(ids, "new"), "new");
  EXPECT_NE(IdAfter(ids, "old"), "old");
  EXPECT_NE(IdAfter(ids, "new"), "new") << "it is taken now";
}

// Readers would get the pieces of a message and then the whole message under another id.
TEST(MessageIdsTest, AnAnnouncedIdIsKeptIfTheStateDoesNotAnswer) {
  const IdGenerator generator;
  MessageIds ids(generator, [](const std::string&) -> Result<bool> {
    return Status(StatusCode::kUnavailable, "the state service did not answer in time");
  });
  ids.Announce("shown");
  EXPECT_EQ(IdAfter(ids, "shown"), "shown");
  EXPECT_NE(IdAfter(ids, "of a client"), "of a client");
  ids.Announce("shown");
  EXPECT_NE(IdAfter(ids, "shown"), "shown") << "it is taken now";
}

// A request that is repeated is recognized by the id of its message.
TEST(MessageIdsTest, AMessageOfTheRequestGetsNoOtherIdBecauseTheStateDoesNotAnswer) {
  const IdGenerator generator;
  bool answers = false;
  MessageIds ids(generator, [&](const std::string&) -> Result<bool> {
    if (answers) return false;
    return Status(StatusCode::kUnavailable, "the state service did not answer in time");
  });
  Message message = Message::User("hi");
  message.id = "of a client";
  EXPECT_EQ(ids.AssignToRequested(message).code(), StatusCode::kUnavailable);
  EXPECT_EQ(message.id, "of a client");
  answers = true;
  EXPECT_TRUE(ids.AssignToRequested(message).ok());
  EXPECT_EQ(message.id, "of a client");
  EXPECT_TRUE(ids.AssignToRequested(message).ok());
  EXPECT_NE(message.id, "of a client") << "it is taken now";
}

}  // namespace
}  // namespace agent_graph::run
