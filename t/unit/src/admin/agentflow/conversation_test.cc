#include "admin/agentflow/conversation.h"

#include <gtest/gtest.h>

#include "agent_graph/json.h"
#include "message/codec.h"

namespace agent_graph::admin::agentflow {
namespace {

StoredThread Thread() {
  return {.id = "t", .user = "anna", .name = "About tea", .created_micros = 1, .updated_micros = 9};
}

StoredMessage Text(const std::string& id, int64_t micros, const std::string& role = "user") {
  return {.id = id,
          .role = role,
          .content = R"([{"type":"text","text":"words of )" + id + R"(","annotations":[]}])",
          .created_micros = micros};
}

std::vector<std::string> Ids(const Conversation& conversation, bool only_window = false) {
  std::vector<std::string> ids;
  for (const Conversation::Item& item : conversation.messages) {
    if (item.in_window || !only_window) ids.push_back(item.message.id);
  }
  return ids;
}

TEST(AgentFlowConversation, TheRecord) {
  StoredThread stored = Thread();
  stored.metadata_json = R"({"run_id": "r", "color": "red"})";
  const state::ThreadRecord record = Convert(stored).record;
  EXPECT_EQ(record.owner, "anna");
  EXPECT_EQ(record.name, "About tea");
  EXPECT_EQ(record.last_run_id, "r");
  EXPECT_EQ(record.created_micros, 1);
  EXPECT_EQ(record.updated_micros, 9);
  EXPECT_EQ(json::parse(record.metadata_json)["color"], "red");
}

TEST(AgentFlowConversation, PlaceholdersOfUsersAndNames) {
  StoredThread stored = Thread();
  stored.user = "anonymous";
  stored.name = "Thread t";
  const state::ThreadRecord record = Convert(stored).record;
  EXPECT_EQ(record.owner, "");
  EXPECT_EQ(record.name, "");
}

TEST(AgentFlowConversation, TheContextOrdersMessagesOfOneMoment) {
  StoredThread stored = Thread();
  stored.messages = {Text("c", 5), Text("old", 5), Text("b", 5), Text("d", 6)};
  stored.state_json = R"({"context": [
    {"message_id": "b", "role": "user", "content": [{"type": "text", "text": "b"}]},
    {"message_id": "c", "role": "user", "content": [{"type": "text", "text": "c"}]},
    {"message_id": "only here", "role": "user", "content": [{"type": "text", "text": "x"}]}]})";
  const Conversation conversation = Convert(stored);
  EXPECT_EQ(Ids(conversation), (std::vector<std::string>{"old", "b", "c", "d", "only here"}));
  EXPECT_EQ(Ids(conversation, true), (std::vector<std::string>{"b", "c", "only here"}));
  EXPECT_TRUE(conversation.problems.empty());
}

TEST(AgentFlowConversation, FieldsAndSummary) {
  StoredThread stored = Thread();
  stored.state_json = R"({"city": "Rome", "context": [], "context_summary": "short",
                          "__state_meta__": {"format": 1}, "execution_meta": {"step": 3}})";
  const Conversation conversation = Convert(stored);
  EXPECT_TRUE(conversation.has_state);
  EXPECT_EQ(json::parse(conversation.snapshot.fields_json), json({{"city", "Rome"}}));
  EXPECT_EQ(conversation.snapshot.summary, "short");
}

TEST(AgentFlowConversation, ContentThatIsNoListOfBlocks) {
  StoredThread stored = Thread();
  stored.messages = {Text("a", 1), Text("b", 2)};
  stored.messages[0].content = "plain words";
  stored.messages[1].content = R"({"type": "text", "text": "one block"})";
  const Conversation conversation = Convert(stored);
  ASSERT_EQ(conversation.messages.size(), 2u);
  EXPECT_EQ(message::SearchText(conversation.messages[0].message.json), "plain words");
  EXPECT_EQ(message::SearchText(conversation.messages[1].message.json), "one block");
}

TEST(AgentFlowConversation, UnknownBlocksAreKeptAndNamed) {
  StoredThread stored = Thread();
  stored.messages = {Text("a", 1)};
  stored.messages[0].content = R"([{"type": "hologram", "depth": 3}])";
  const Conversation conversation = Convert(stored);
  ASSERT_EQ(conversation.messages.size(), 1u);
  EXPECT_NE(conversation.messages[0].message.json.find("hologram"), std::string::npos);
  ASSERT_EQ(conversation.problems.size(), 1u);
  EXPECT_NE(conversation.problems[0].find("message a"), std::string::npos);
}

TEST(AgentFlowConversation, FilesAreCounted) {
  StoredThread stored = Thread();
  stored.messages = {Text("a", 1), Text("b", 2)};
  stored.messages[1].content =
      R"([{"type": "image", "media": {"kind": "file_id", "file_id": "f", "mime_type": "image/png"}}])";
  EXPECT_EQ(Convert(stored).file_references, 1u);
}

TEST(AgentFlowConversation, APausedThreadResumesAtItsNode) {
  StoredThread stored = Thread();
  stored.state_json = R"({"context": [], "execution_meta": {"current_node": "APPROVE", "step": 2,
    "status": "interrupted_before", "interrupted_node": "APPROVE", "interrupt_reason": "why"}})";
  const json meta = json::parse(Convert(stored).snapshot.execution_json);
  EXPECT_EQ(meta["status"], "interrupted_before");
  EXPECT_EQ(meta["resume_node"], "APPROVE");
  EXPECT_EQ(meta["interrupt_reason"], "why");
  // The server died during this run.
  stored.state_json = R"({"context": [], "execution_meta": {"current_node": "__end__",
    "status": "running"}})";
  const json ended = json::parse(Convert(stored).snapshot.execution_json);
  EXPECT_EQ(ended["status"], "completed");
  EXPECT_EQ(ended["current_node"], "END");
}

}  // namespace
}  // namespace agent_graph::admin::agentflow
