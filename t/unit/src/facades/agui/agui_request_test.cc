#include "facades/agui/agui_request.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"

namespace agent_graph::agui {
namespace {

using Indices = std::vector<size_t>;

json Entry(const char* id, const char* role) {
  return {{"id", id}, {"role", role}, {"content", "x"}};
}

json ListOf(std::initializer_list<json> entries) {
  json list = json::array();
  for (const json& entry : entries) list.push_back(entry);
  return list;
}

Indices Added(const json& messages, const std::vector<std::string>& known) {
  std::vector<state::StoredMessage> window;
  for (const std::string& id : known) window.push_back({.id = id, .sequence = 0, .json = ""});
  return NewMessages(messages, window);
}

TEST(NewMessages, AreThoseBehindTheLastKnownOne) {
  const json messages = ListOf({Entry("1", "user"), Entry("2", "assistant"), Entry("3", "user")});
  EXPECT_EQ(Added(messages, {"1", "2"}), Indices{2});
  EXPECT_EQ(Added(messages, {"1", "2", "3"}), Indices());
  EXPECT_EQ(Added(ListOf({Entry("1", "user"), Entry("3", "user")}), {}), (Indices{0, 1}));
}

// As a client has them when a run has failed, or goes on, after the model has thought.
TEST(NewMessages, AreNotReasoningWithoutAnAnswer) {
  for (const char* role : {"reasoning", "activity"}) {
    EXPECT_EQ(Added(ListOf({Entry("1", "user"), Entry("r", role)}), {"1"}), Indices());
    EXPECT_EQ(Added(ListOf({Entry("1", "user"), Entry("r", role), Entry("2", "user")}), {"1"}),
              Indices{2});
  }
}

// Only results have ids that the service has numbered. A client may number its own messages alike.
TEST(NewMessages, MayHaveTheIdOfAKnownOneWithANumber) {
  const json numbered = ListOf({Entry("m", "user"), Entry("a", "assistant"), Entry("m-2", "user")});
  EXPECT_EQ(Added(numbered, {"m", "a"}), Indices{2});
  const json results = ListOf({Entry("a", "assistant"), Entry("r", "tool"), Entry("r-2", "tool")});
  EXPECT_EQ(Added(results, {"a", "r"}), Indices());
}

TEST(HasTail, IsTrueForMessagesOfTheConversation) {
  EXPECT_TRUE(HasTail(ListOf({Entry("1", "user"), Entry("r", "reasoning")})));
  EXPECT_FALSE(HasTail(ListOf({Entry("1", "assistant"), Entry("r", "reasoning")})));
  EXPECT_TRUE(HasTail(ListOf({Entry("1", "assistant"), Entry("2", "tool")})));
  EXPECT_FALSE(HasTail(ListOf({})));
}

}  // namespace
}  // namespace agent_graph::agui
