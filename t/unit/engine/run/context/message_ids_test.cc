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

}  // namespace
}  // namespace agent_graph::run
