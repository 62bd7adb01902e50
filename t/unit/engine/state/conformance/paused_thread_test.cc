// Threads that wait for their client: how they are found by their open calls, and how the pause
// ends when these calls are removed.
#include <gmock/gmock.h>

#include "agent_graph/json.h"
#include "base/json.h"
#include "conformance.h"
#include "message/codec.h"
#include "state/requests.h"
#include "state/service.h"
#include "state/verify/verify.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;

StoredMessage Stored(Message message, const std::string& id) {
  message.id = id;
  return {id, 0, message::ToJsonText(message)};
}

Message Calling(Role role, const std::vector<std::string>& calls, bool remote) {
  Message message;
  message.role = role;
  for (const std::string& id : calls) {
    message.content.emplace_back(ToolCallBlock{id, "show_map", "{}", remote});
  }
  return message;
}

// Paused behind the node TOOLS, for these calls.
std::string PausedFor(const std::vector<std::string>& calls) {
  json execution = {
      {"current_node", "TOOLS"},       {"step", 2},
      {"status", "interrupted_after"}, {"interrupted_node", "TOOLS"},
      {"resume_node", "TOOLS"},        {"interrupt_data", {{"remote_tool_calls", json::array()}}}};
  for (const std::string& id : calls) {
    execution["interrupt_data"]["remote_tool_calls"].push_back({{"id", id}, {"name", "show_map"}});
  }
  return DumpJson(execution);
}

class PausedThreadTest : public ConformanceTest {
 protected:
  // A run that asks for `calls`, hands them to its client and waits.
  FinishRunRequest Pausing(const std::string& thread_id, const std::string& user,
                           const std::vector<std::string>& calls) {
    const BeginRunRequest run = RunOn(thread_id, user);
    Result<BeginRunReply> begun = client_->BeginRun(run, nullptr);
    EXPECT_TRUE(begun.ok()) << begun.status().ToString();
    FinishRunRequest finish =
        FinishOf(run, begun.ok() ? *begun : BeginRunReply(),
                 {UserMessage("u"), Stored(Calling(Role::kAssistant, calls, false), "a"),
                  Stored(Calling(Role::kTool, calls, true), "asked")});
    finish.status = "interrupted";
    finish.snapshot.execution_json = PausedFor(calls);
    for (const std::string& id : calls) finish.open_calls.push_back({id, true, {"a", "asked"}});
    return finish;
  }
  void Pause(const std::string& thread_id, const std::string& user,
             const std::vector<std::string>& calls) {
    ASSERT_TRUE(client_->FinishRun(Pausing(thread_id, user, calls)).ok());
  }

  std::string Waiting(const std::vector<std::string>& calls, const Scope& scope = Scope::All()) {
    Result<WaitingThread> found = client_->FindWaitingThread({scope, calls});
    if (found.ok()) return found->thread_id;
    EXPECT_EQ(found.status().code(), StatusCode::kNotFound);
    return "none";
  }
  json Execution(const std::string& thread_id = "t") {
    Result<ThreadState> state = client_->GetState(Scope::All(), thread_id);
    EXPECT_TRUE(state.ok()) << state.status().ToString();
    return state.ok() ? json::parse(state->snapshot.execution_json) : json();
  }
  std::vector<std::string> Asked() {
    std::vector<std::string> ids;
    json execution = Execution();
    for (const json& call : execution["interrupt_data"]["remote_tool_calls"]) {
      ids.push_back(call.at("id"));
    }
    return ids;
  }
  void ExpectNotPaused() {
    EXPECT_EQ(Execution(), json({{"current_node", "TOOLS"}, {"step", 2}, {"status", "completed"}}));
    EXPECT_EQ(Waiting({"c1"}), "none");
  }
};
INSTANTIATE_TEST_SUITE_P(All, PausedThreadTest, testing::ValuesIn(AllSetups()), SetupName);

class PausedThreadTakeover : public PausedThreadTest {};
INSTANTIATE_TEST_SUITE_P(All, PausedThreadTakeover, testing::ValuesIn(LastingSetups()), SetupName);

TEST_P(PausedThreadTest, IsFoundByItsCalls) {
  Pause("t", "", {"c1", "c2"});
  EXPECT_EQ(Waiting({"c1"}), "t");
  EXPECT_EQ(Waiting({"c2", "c1"}), "t");
  EXPECT_EQ(Waiting({"c3"}), "none");
  EXPECT_EQ(Waiting({"c1", "c3"}), "none");
  EXPECT_EQ(Waiting({}), "none");
  EXPECT_EQ(Waiting({std::string(5000, 'x')}), "none");
}

TEST_P(PausedThreadTest, OneOfSeveralIsNotGuessed) {
  Pause("t", "", {"c1"});
  Pause("other", "", {"c1", "c2"});
  EXPECT_EQ(Waiting({"c1"}), "none");
  EXPECT_EQ(Waiting({"c1", "c2"}), "other");
  ASSERT_TRUE(client_->DeleteThread(Scope::All(), "other").ok());
  EXPECT_EQ(Waiting({"c1"}), "t");
}

TEST_P(PausedThreadTest, IsFoundByThoseWhoMaySeeItOnly) {
  Pause("t", "alice", {"c1"});
  EXPECT_EQ(Waiting({"c1"}, Scope::Owner("alice")), "t");
  EXPECT_EQ(Waiting({"c1"}, Scope::Owner("bob")), "none");
  EXPECT_EQ(Waiting({"c1"}, Scope::Owner("")), "none");
  EXPECT_EQ(Waiting({"c1"}), "t");
  // A thread of another user with the same call id does not matter.
  Pause("t2", "bob", {"c1"});
  EXPECT_EQ(Waiting({"c1"}, Scope::Owner("alice")), "t");
  EXPECT_EQ(Waiting({"c1"}, Scope::Owner("bob")), "t2");
}

TEST_P(PausedThreadTest, AnAnsweredCallLeadsNowhere) {
  Pause("t", "", {"c1", "c2"});
  BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = client_->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  FinishRunRequest partly =
      FinishOf(run, *begun, {Stored(Message::ToolResult("c1", "1"), "result")});
  partly.status = "interrupted";
  partly.snapshot.execution_json = PausedFor({"c2"});
  partly.open_calls = {{"c2", true, {"a", "asked"}}};
  ASSERT_TRUE(client_->FinishRun(partly).ok());
  EXPECT_EQ(Waiting({"c1"}), "none");
  EXPECT_EQ(Waiting({"c2"}), "t");
  RunTurn(*client_, "t", "", {Stored(Message::ToolResult("c2", "2"), "second")});
  EXPECT_EQ(Waiting({"c2"}), "none");
}

TEST_P(PausedThreadTest, ARunThatWasLostLeavesNoPause) {
  Pause("t", "", {"c1"});
  BeginRunRequest run = RunOn("t");
  Client* other = Connect();
  Result<BeginRunReply> begun = other->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  ASSERT_TRUE(other->AppendRun(AppendOf(run, *begun)).ok());
  EXPECT_EQ(Waiting({"c1"}), "t");
  other->Stop();
  ASSERT_TRUE(client_->BeginRun(RunOn("t"), nullptr).ok());
  EXPECT_EQ(Waiting({"c1"}), "none");
}

TEST_P(PausedThreadTest, EndsWithTheMessageThatHoldsItsCall) {
  for (const char* message : {"a", "asked"}) {
    Pause("t", "", {"c1"});
    ASSERT_TRUE(client_->DeleteMessage(Scope::All(), "t", message).ok());
    ExpectNotPaused();
    ASSERT_TRUE(client_->DeleteThread(Scope::All(), "t").ok());
  }
}

TEST_P(PausedThreadTest, OutlivesTheRemovalOfOtherMessages) {
  Pause("t", "", {"c1"});
  ASSERT_TRUE(client_->DeleteMessage(Scope::All(), "t", "u").ok());
  EXPECT_THAT(Asked(), ElementsAre("c1"));
  ASSERT_TRUE(client_->AppendMessages(MessagesOn("t", "", {UserMessage("later")})).ok());
  EXPECT_THAT(Asked(), ElementsAre("c1"));
  EXPECT_EQ(Waiting({"c1"}), "t");
}

TEST_P(PausedThreadTest, EndsWithItsMessagesRemovedTogether) {
  Pause("t", "", {"c1"});
  const int64_t updated = client_->GetThread(Scope::All(), "t")->updated_micros;
  ASSERT_TRUE(client_->RemoveMessages({Scope::All(), "t", updated, {"a", "asked"}}).ok());
  ExpectNotPaused();
}

TEST_P(PausedThreadTest, EndsWithItsContext) {
  Pause("t", "", {"c1"});
  ASSERT_TRUE(client_->ClearState(Scope::All(), "t").ok());
  EXPECT_EQ(Execution(), json::object());
  EXPECT_EQ(Waiting({"c1"}), "none");
  Pause("put", "", {"c1"});
  PutStateRequest put = PutOn("put", "");
  put.context_cleared = true;
  ASSERT_TRUE(client_->PutState(put).ok());
  EXPECT_EQ(Execution("put")["status"], "completed");
  EXPECT_EQ(Waiting({"c1"}), "none");
}

TEST_P(PausedThreadTest, EndsWhenAMessageTakesThePlaceOfItsCall) {
  const auto replaced = [&](const StoredMessage& message) {
    Pause("t", "", {"c1", "c2"});
    PutStateRequest put = PutOn("t", "");
    put.messages = {message};
    EXPECT_TRUE(client_->PutState(put).ok());
    std::vector<std::string> left = Asked();
    EXPECT_TRUE(client_->DeleteThread(Scope::All(), "t").ok());
    return left;
  };
  EXPECT_THAT(replaced(AssistantMessage("a")), ElementsAre());
  EXPECT_THAT(replaced(Stored(Calling(Role::kAssistant, {"c1"}, false), "a")), ElementsAre("c1"));
  EXPECT_THAT(replaced(Stored(Message::ToolResult("c1", "1"), "new")), ElementsAre("c2"));
  EXPECT_THAT(replaced(AssistantMessage("new")), ElementsAre());
  EXPECT_THAT(replaced(UserMessage("new")), ElementsAre("c1", "c2"));
}

TEST_P(PausedThreadTest, EndsWhenMessagesAreAddedThatAnswerIt) {
  Pause("t", "", {"c1", "c2"});
  // The message exists already and stays as it is.
  ASSERT_TRUE(client_->AppendMessages(MessagesOn("t", "", {AssistantMessage("a")})).ok());
  EXPECT_THAT(Asked(), ElementsAre("c1", "c2"));
  const StoredMessage result = Stored(Message::ToolResult("c1", "1"), "result");
  ASSERT_TRUE(client_->AppendMessages(MessagesOn("t", "", {result})).ok());
  EXPECT_THAT(Asked(), ElementsAre("c2"));
  EXPECT_EQ(Waiting({"c1"}), "none");
  EXPECT_EQ(Waiting({"c2"}), "t");
  ASSERT_TRUE(client_->AppendMessages(MessagesOn("t", "", {AssistantMessage("b")})).ok());
  ExpectNotPaused();
}

TEST_P(PausedThreadTest, IsNotMadeOfACallThatWasTakenAwayDuringTheRun) {
  FinishRunRequest finish = Pausing("t", "", {"c1"});
  AppendRunRequest append = finish.append;
  append.entries.clear();
  ASSERT_TRUE(client_->AppendRun(append).ok());
  ASSERT_TRUE(client_->DeleteMessage(Scope::All(), "t", "a").ok());
  finish.append.messages.clear();
  ASSERT_TRUE(client_->FinishRun(finish).ok());
  ExpectNotPaused();
}

TEST_P(PausedThreadTest, APauseWithoutCallsStays) {
  const BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = client_->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  FinishRunRequest finish = FinishOf(run, *begun, {UserMessage("u"), AssistantMessage("a")});
  finish.status = "interrupted";
  finish.snapshot.execution_json = R"({"status":"interrupted_before","resume_node":"PAY"})";
  ASSERT_TRUE(client_->FinishRun(finish).ok());
  ASSERT_TRUE(client_->DeleteMessage(Scope::All(), "t", "a").ok());
  EXPECT_EQ(Execution()["resume_node"], "PAY");
}

TEST_P(PausedThreadTakeover, IsFoundAfterARestartAndMakesNoFaults) {
  Pause("t", "alice", {"c1"});
  Pause("gone", "alice", {"c2"});
  ASSERT_TRUE(client_->DeleteThread(Scope::All(), "gone").ok());
  const FinishRunRequest finish = Pausing("t", "alice", {"c1"});
  ASSERT_TRUE(client_->ClearState(Scope::All(), "t").ok());
  Result<VerifyReport> verified = client_->Verify();
  ASSERT_TRUE(verified.ok()) << verified.status().ToString();
  EXPECT_THAT(verified->problems, ElementsAre());
  ASSERT_TRUE(client_->FinishRun(finish).ok());
  Pause("t2", "alice", {"c1"});
  Restart();
  EXPECT_EQ(Waiting({"c1"}, Scope::Owner("alice")), "t2") << "the state of t was cleared";
  EXPECT_EQ(Waiting({"c2"}, Scope::Owner("alice")), "none");
  EXPECT_EQ(client_->Verify()->problem_count, 0u);
}

}  // namespace
}  // namespace agent_graph::state
