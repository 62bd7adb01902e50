// Threads, state and messages in every implementation of state::Service.
#include <gmock/gmock.h>

#include <algorithm>

#include "conformance.h"
#include "state/limits.h"
#include "state/message_cursor.h"
#include "state/requests.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ServiceThreadsTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(All, ServiceThreadsTest, testing::ValuesIn(AllSetups()), SetupName);

TEST_P(ServiceThreadsTest, OwnerScopeFindsOnlyItsOwn) {
  RunTurn(service(), "a", "alice", {UserMessage("m")});
  RunTurn(service(), "nobody", "", {UserMessage("m")});
  const Scope bob = Scope::Owner("bob");
  EXPECT_EQ(StateCode("a", bob), StatusCode::kNotFound);
  EXPECT_EQ(service().GetThread(bob, "a").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(service().DeleteThread(bob, "a").code(), StatusCode::kNotFound);
  EXPECT_EQ(service().ClearState(bob, "a").code(), StatusCode::kNotFound);
  EXPECT_EQ(service().GetMessage(bob, "a", "m").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(service().DeleteMessage(bob, "a", "m").code(), StatusCode::kNotFound);
  EXPECT_EQ(service().ListMessages(bob, "a", {}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(service().ReadLog(bob, "a", 0, 10).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(service().BeginRun(RunOn("a", "bob"), nullptr).status().code(),
            StatusCode::kPermissionDenied);
  PutStateRequest put = PutOn("a", "bob");
  EXPECT_EQ(service().PutState(put).status().code(), StatusCode::kPermissionDenied);
  AppendMessagesRequest append = MessagesOn("a", "bob", {UserMessage("x")});
  EXPECT_EQ(service().AppendMessages(append).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(StateCode("nobody", bob), StatusCode::kNotFound);
  EXPECT_EQ(StateCode("nobody", Scope::Owner("")), StatusCode::kNotFound);
  EXPECT_EQ(StateCode("nobody"), StatusCode::kOk);
  EXPECT_THAT(Ids(StateOf("a", Scope::Owner("alice")).window), ElementsAre("m"));
}

TEST_P(ServiceThreadsTest, MessagesCanDemandThatTheThreadExists) {
  AppendMessagesRequest append = MessagesOn("a", "alice", {UserMessage("m")});
  append.metadata_json = R"({"k":1})";
  append.must_exist = true;
  EXPECT_EQ(service().AppendMessages(append).code(), StatusCode::kNotFound);
  EXPECT_EQ(StateCode("a"), StatusCode::kNotFound);
  RunTurn(service(), "a", "bob", {UserMessage("u")});
  EXPECT_EQ(service().AppendMessages(append).code(), StatusCode::kNotFound);
  ASSERT_TRUE(service().DeleteThread(Scope::Owner("bob"), "a").ok());
  append.scope = Scope::Owner("bob");
  EXPECT_EQ(service().AppendMessages(append).code(), StatusCode::kNotFound);
  RunTurn(service(), "a", "bob", {UserMessage("u")});
  ASSERT_TRUE(service().AppendMessages(append).ok());
  EXPECT_THAT(Ids(StateOf("a").window), ElementsAre("u", "m"));
  EXPECT_EQ(StateOf("a").record.metadata_json, R"({"k":1})");
}

TEST_P(ServiceThreadsTest, WindowIsCutAtAUserMessage) {
  for (int turn = 0; turn < 4; ++turn) {
    const std::string id = std::to_string(turn);
    RunTurn(service(), "t", "", {UserMessage("u" + id), AssistantMessage("a" + id)});
  }
  BeginRunRequest run = RunOn("t");
  run.window_max = 3;
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  EXPECT_THAT(Ids(begun->state.window), ElementsAre("u3", "a3"));
  ASSERT_TRUE(service().FinishRun(FinishOf(run, *begun, {UserMessage("u4")})).ok());
  EXPECT_THAT(Ids(StateOf("t").window), ElementsAre("u3", "a3", "u4"));
  EXPECT_EQ(service().ListMessages(Scope::All(), "t", {})->messages.size(), 9u);
}

TEST_P(ServiceThreadsTest, WindowKeepsOneLongTurnWhole) {
  RunTurn(service(), "t", "", {UserMessage("u0"), AssistantMessage("a0")});
  std::vector<StoredMessage> turn = {UserMessage("u1")};
  for (int i = 0; i < 8; ++i) turn.push_back(AssistantMessage(Numbered("a1.", i)));
  RunTurn(service(), "t", "", turn);
  BeginRunRequest run = RunOn("t");
  run.window_max = 3;
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(Ids(begun->state.window), Ids(turn));
}

TEST_P(ServiceThreadsTest, ALargeStateIsOmittedAndMeasured) {
  PutStateRequest put = PutOn("t", "alice");
  put.messages = {UserMessage("m1", std::string(10'000, 'x'))};
  ASSERT_TRUE(service().PutState(put).ok());
  Result<GetStateUpToReply> reply = service().GetStateUpTo({Scope::All(), "t", 20'000});
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->omitted_bytes, 0u);
  EXPECT_THAT(Ids(reply->state.window), ElementsAre("m1"));

  reply = service().GetStateUpTo({Scope::All(), "t", 9'000});
  ASSERT_TRUE(reply.ok());
  EXPECT_GT(reply->omitted_bytes, 10'000u);
  EXPECT_LT(reply->omitted_bytes, 20'000u);
  EXPECT_THAT(reply->state.window, IsEmpty());

  EXPECT_EQ(service().GetStateUpTo({Scope::Owner("bob"), "t", 9'000}).status().code(),
            StatusCode::kNotFound);
}

TEST_P(ServiceThreadsTest, PutMergesAsTheContractSays) {
  PutStateRequest put = PutOn("t", "alice");
  put.fields_json = R"({"a":{"x":1,"y":2},"list":[1,2],"gone":true})";
  put.summary_present = true;
  put.summary = "so far";
  put.messages = {UserMessage("m1", "one"), AssistantMessage("m2")};
  Result<ThreadState> state = service().PutState(put);
  ASSERT_TRUE(state.ok()) << state.status().ToString();
  EXPECT_EQ(state->record.owner, "alice");
  EXPECT_EQ(state->snapshot.summary, "so far");
  EXPECT_THAT(Ids(state->window), ElementsAre("m1", "m2"));

  put = PutOn("t", "alice");
  put.fields_json = R"({"a":{"y":3},"list":[9],"gone":null})";
  put.messages = {UserMessage("m1", "changed"), UserMessage("m3")};
  state = service().PutState(put);
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->snapshot.fields_json, R"({"a":{"x":1,"y":3},"list":[9]})");
  EXPECT_EQ(state->snapshot.summary, "so far");
  EXPECT_THAT(Ids(state->window), ElementsAre("m1", "m2", "m3"));
  EXPECT_THAT(state->window[0].json, HasSubstr("changed"));

  put = PutOn("t", "alice");
  put.summary_present = true;
  put.context_cleared = true;
  state = service().PutState(put);
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->snapshot.summary, std::nullopt);
  EXPECT_THAT(state->window, IsEmpty());
  EXPECT_EQ(service().ListMessages(Scope::All(), "t", {})->messages.size(), 3u);

  put.fields_json = "[]";
  EXPECT_EQ(service().PutState(put).status().code(), StatusCode::kInvalidArgument);
}

// The realtime provider's resumption handle is context, too.
TEST_P(ServiceThreadsTest, ClearedContextTakesTheProvidersMemoryAlong) {
  AppendMessagesRequest append = MessagesOn("t", "alice", {});
  append.metadata_json = R"({"resumption_handle":"h","kept":1})";
  ASSERT_TRUE(service().AppendMessages(append).ok());
  ASSERT_TRUE(service().ClearState(Scope::Owner("alice"), "t").ok());
  EXPECT_EQ(StateOf("t").record.metadata_json, R"({"kept":1})");
  ASSERT_TRUE(service().AppendMessages(append).ok());
  PutStateRequest put = PutOn("t", "alice");
  ASSERT_TRUE(service().PutState(put).ok());
  EXPECT_NE(StateOf("t").record.metadata_json, R"({"kept":1})");
  put.context_cleared = true;
  ASSERT_TRUE(service().PutState(put).ok());
  EXPECT_EQ(StateOf("t").record.metadata_json, R"({"kept":1})");
}

TEST_P(ServiceThreadsTest, ClearStateKeepsRecordAndHistory) {
  RunTurn(service(), "t", "alice", {UserMessage("m1"), AssistantMessage("m2")});
  const ThreadRecord before = StateOf("t").record;
  ASSERT_TRUE(service().ClearState(Scope::Owner("alice"), "t").ok());
  ThreadState state = StateOf("t");
  EXPECT_EQ(state.record.owner, "alice");
  EXPECT_EQ(state.record.creation_id, before.creation_id);
  EXPECT_THAT(state.window, IsEmpty());
  EXPECT_EQ(state.snapshot.execution_json, "{}");
  EXPECT_EQ(service().ListMessages(Scope::All(), "t", {})->messages.size(), 2u);
  EXPECT_EQ(service().ClearState(Scope::All(), "unknown").code(), StatusCode::kNotFound);

  RunTurn(service(), "t", "alice", {UserMessage("m3")});
  EXPECT_THAT(Ids(StateOf("t").window), ElementsAre("m3"));
}

TEST_P(ServiceThreadsTest, DeletedThreadIsGoneAndItsIdIsFree) {
  RunTurn(service(), "t", "alice", {UserMessage("m1")});
  const std::string creation_id = StateOf("t").record.creation_id;
  ASSERT_TRUE(service().DeleteThread(Scope::Owner("alice"), "t").ok());
  EXPECT_EQ(StateCode("t"), StatusCode::kNotFound);
  EXPECT_EQ(service().DeleteThread(Scope::All(), "t").code(), StatusCode::kNotFound);
  EXPECT_THAT(service().ListThreads(Scope::All(), {})->threads, IsEmpty());
  RunTurn(service(), "t", "bob", {UserMessage("m2")});
  ThreadState state = StateOf("t", Scope::Owner("bob"));
  EXPECT_NE(state.record.creation_id, creation_id);
  EXPECT_THAT(Ids(service().ListMessages(Scope::All(), "t", {})->messages), ElementsAre("m2"));
  EXPECT_EQ(service().GetMessage(Scope::All(), "t", "m1").status().code(), StatusCode::kNotFound);
}

TEST_P(ServiceThreadsTest, DeletingARunningThreadFencesTheRun) {
  BeginRunRequest run = RunOn("t");
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  ASSERT_TRUE(service().DeleteThread(Scope::All(), "t").ok());
  EXPECT_EQ(service().AppendRun(AppendOf(run, *begun)).status().code(), StatusCode::kFenced);
  EXPECT_EQ(StateCode("t"), StatusCode::kNotFound);
}

TEST_P(ServiceThreadsTest, DeletedMessageLeavesHistoryAndWindow) {
  RunTurn(service(), "t", "", {UserMessage("m1"), AssistantMessage("m2"), UserMessage("m3")});
  ASSERT_TRUE(service().DeleteMessage(Scope::All(), "t", "m2").ok());
  EXPECT_EQ(service().DeleteMessage(Scope::All(), "t", "m2").code(), StatusCode::kNotFound);
  EXPECT_EQ(service().GetMessage(Scope::All(), "t", "m2").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Ids(StateOf("t").window), ElementsAre("m1", "m3"));
  Result<MessagePage> page = service().ListMessages(Scope::All(), "t", Page(1));
  EXPECT_THAT(Ids(page->messages), ElementsAre("m3"));
  RunTurn(service(), "t", "", {UserMessage("m2")});
  EXPECT_EQ(service().GetMessage(Scope::All(), "t", "m2")->sequence, 4u);
}

TEST_P(ServiceThreadsTest, AppendedMessagesAreInHistoryAndWindow) {
  AppendMessagesRequest append =
      MessagesOn("t", "alice", {UserMessage("m1"), AssistantMessage("m2")});
  append.creation_id = "c";
  append.metadata_json = R"({"a":1})";
  ASSERT_TRUE(service().AppendMessages(append).ok());
  append.messages = {UserMessage("m1", "again"), UserMessage("m3")};
  append.metadata_json = R"({"b":2})";
  ASSERT_TRUE(service().AppendMessages(append).ok());
  ThreadState state = StateOf("t");
  EXPECT_EQ(state.record.owner, "alice");
  EXPECT_EQ(state.record.creation_id, "c");
  EXPECT_EQ(state.record.metadata_json, R"({"a":1,"b":2})");
  EXPECT_THAT(Ids(state.window), ElementsAre("m1", "m2", "m3"));
  EXPECT_THAT(state.window[0].json, HasSubstr("hello"));
  EXPECT_THAT(Ids(service().ListMessages(Scope::All(), "t", {})->messages),
              ElementsAre("m1", "m2", "m3"));
}

// --- pages -------------------------------------------------------------------------------------

TEST_P(ServiceThreadsTest, MessagePagesAndSearch) {
  std::vector<StoredMessage> messages;
  for (int i = 0; i < 10; ++i) {
    messages.push_back(UserMessage(Numbered("m", i), i % 2 ? "Odd one" : "even"));
  }
  RunTurn(service(), "t", "", messages);
  auto page = [&](PageRequest request) {
    Result<MessagePage> result = service().ListMessages(Scope::All(), "t", request);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return result.ok() ? Ids(result->messages) : std::vector<std::string>();
  };
  EXPECT_THAT(page(Page(0, 2)), ElementsAre("m0", "m1"));
  EXPECT_THAT(page(Page(8, 5)), ElementsAre("m8", "m9"));
  EXPECT_THAT(page(Page(10)), IsEmpty());
  EXPECT_THAT(page(Page(~uint64_t{0}, ~uint64_t{0})), IsEmpty());
  EXPECT_THAT(page(Page(1, 2, "oDD")), ElementsAre("m3", "m5"));
  EXPECT_THAT(page(Page(0, 100, "message_id")), IsEmpty());
}

TEST_P(ServiceThreadsTest, MessagePagesGoOnFromTheCursor) {
  std::vector<StoredMessage> messages;
  for (int i = 0; i < 10; ++i) messages.push_back(UserMessage(Numbered("m", i), "text"));
  RunTurn(service(), "t", "", messages);
  ASSERT_TRUE(service().DeleteMessage(Scope::All(), "t", "m4").ok());
  for (const std::string search : {"", "text"}) {
    std::vector<std::string> found;
    PageRequest request = Page(1, 3, search);
    for (;;) {
      Result<MessagePage> page = service().ListMessages(Scope::All(), "t", request);
      ASSERT_TRUE(page.ok());
      for (const std::string& id : Ids(page->messages)) found.push_back(id);
      if (page->next_cursor.empty()) break;
      ASSERT_EQ(page->messages.size(), 3u);
      request.offset = 0;
      request.cursor = page->next_cursor;
    }
    EXPECT_THAT(found, ElementsAre("m1", "m2", "m3", "m5", "m6", "m7", "m8", "m9"));
  }
  for (const std::string cursor :
       {"x", "1x", "1-", "-1", "1--1", "99999999999999999999", "b", "bx"}) {
    PageRequest request = Page(0, 3);
    request.cursor = cursor;
    EXPECT_EQ(service().ListMessages(Scope::All(), "t", request).status().code(),
              StatusCode::kInvalidArgument)
        << cursor;
  }
}

TEST_P(ServiceThreadsTest, MessagesCanBeListedNewestFirst) {
  std::vector<StoredMessage> messages;
  for (int i = 0; i < 8; ++i) messages.push_back(UserMessage(Numbered("m", i), "text"));
  RunTurn(service(), "t", "", messages);
  for (const char* id : {"m3", "m4", "m7"}) {
    ASSERT_TRUE(service().DeleteMessage(Scope::All(), "t", id).ok());
  }
  for (const std::string search : {"", "text"}) {
    std::vector<std::string> found;
    PageRequest request = Page(1, 2, search);
    request.cursor = CursorBackFrom(kNewestMessage);
    do {
      Result<MessagePage> page = service().ListMessages(Scope::All(), "t", request);
      ASSERT_TRUE(page.ok());
      for (const std::string& id : Ids(page->messages)) found.push_back(id);
      request.offset = 0;
      request.cursor = page->next_cursor;
    } while (!request.cursor.empty());
    EXPECT_THAT(found, ElementsAre("m5", "m2", "m1", "m0"));
  }
  PageRequest request = Page(0);
  const std::vector<std::pair<uint64_t, size_t>> counts = {{0, 0}, {1, 1}, {4, 3}, {1000, 5}};
  for (const auto& [sequence, count] : counts) {
    request.cursor = CursorBackFrom(sequence);
    Result<MessagePage> page = service().ListMessages(Scope::All(), "t", request);
    ASSERT_TRUE(page.ok());
    EXPECT_EQ(page->messages.size(), count) << sequence;
    EXPECT_EQ(page->next_cursor, "");
  }
  // A page that ends while it skips goes on in the same direction.
  request.cursor = CursorBackFrom(kNewestMessage) + "-4";
  EXPECT_THAT(Ids(service().ListMessages(Scope::All(), "t", request)->messages), ElementsAre("m0"));
}

TEST_P(ServiceThreadsTest, ThreadsAreListedNewestFirstByScope) {
  for (const char* id : {"a1", "b1", "a2", "n1"}) {
    RunTurn(service(), id, id[0] == 'a' ? "alice" : id[0] == 'b' ? "bob" : "", {UserMessage("m")});
  }
  RunTurn(service(), "a1", "alice", {UserMessage("m2")});
  auto list = [&](const Scope& scope, PageRequest request) {
    std::vector<std::string> ids;
    Result<ThreadPage> page = service().ListThreads(scope, request);
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    if (page.ok()) {
      for (const ThreadRecord& thread : page->threads) ids.push_back(thread.thread_id);
    }
    return ids;
  };
  EXPECT_THAT(list(Scope::All(), {}), ElementsAre("a1", "n1", "a2", "b1"));
  EXPECT_THAT(list(Scope::Owner("alice"), {}), ElementsAre("a1", "a2"));
  EXPECT_THAT(list(Scope::Owner("bob"), {}), ElementsAre("b1"));
  EXPECT_THAT(list(Scope::Owner(""), {}), IsEmpty());
  EXPECT_THAT(list(Scope::Owner("ali"), {}), IsEmpty());
  EXPECT_THAT(list(Scope::All(), Page(1, 2)), ElementsAre("n1", "a2"));
}

TEST_P(ServiceThreadsTest, ThreadPagesStayRightWhileThreadsAreWritten) {
  for (int i = 0; i < 30; ++i) RunTurn(service(), Numbered("t", i), "alice", {UserMessage("m")});
  for (const Scope& scope : {Scope::Owner("alice"), Scope::All()}) {
    std::vector<std::string> seen;
    PageRequest request = Page(0, 7);
    do {
      Result<ThreadPage> page = service().ListThreads(scope, request);
      ASSERT_TRUE(page.ok());
      for (const ThreadRecord& thread : page->threads) seen.push_back(thread.thread_id);
      request.cursor = page->next_cursor;
      // A thread from an earlier page moves to the front, a new one appears there, and one is
      // deleted.
      RunTurn(service(), seen[0], "alice", {UserMessage("again")});
      RunTurn(service(), "new " + NewUuid(), "alice", {UserMessage("m")});
      if (scope.kind == Scope::Kind::kOwner) continue;
      ASSERT_TRUE(service().DeleteThread(Scope::All(), seen.back()).ok());
    } while (!request.cursor.empty());
    // Newest first, each once, none skipped.
    std::erase_if(seen, [](const std::string& id) { return id.starts_with("new "); });
    ASSERT_EQ(seen.size(), 30u);
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
  }
}

TEST_P(ServiceThreadsTest, ThreadPagesGoOnFromTheCursor) {
  for (int i = 0; i < 5; ++i) RunTurn(service(), Numbered("t", i), "alice", {});
  std::vector<std::string> seen;
  PageRequest request = Page(0, 2);
  do {
    Result<ThreadPage> page = service().ListThreads(Scope::Owner("alice"), request);
    ASSERT_TRUE(page.ok());
    for (const ThreadRecord& thread : page->threads) seen.push_back(thread.thread_id);
    request.cursor = page->next_cursor;
  } while (!request.cursor.empty());
  EXPECT_THAT(seen, ElementsAre("t4", "t3", "t2", "t1", "t0"));
  request.cursor = "zz";
  EXPECT_EQ(service().ListThreads(Scope::All(), request).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_P(ServiceThreadsTest, ThreadSearchLooksAtIdNameAndMetadata) {
  AppendMessagesRequest append = MessagesOn("with-metadata", "", {UserMessage("m")});
  append.metadata_json = R"({"topic":"Blue Whales"})";
  ASSERT_TRUE(service().AppendMessages(append).ok());
  BeginRunRequest run = RunOn("named");
  run.thread_name = "Blue Sky";
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  auto count = [&](const std::string& search) {
    return service().ListThreads(Scope::All(), Page(0, 100, search))->threads.size();
  };
  EXPECT_EQ(count("blue"), 2u);
  EXPECT_EQ(count("WHALE"), 1u);
  EXPECT_EQ(count("NAMED"), 1u);
  EXPECT_EQ(count("green"), 0u);
}

TEST_P(ServiceThreadsTest, IdsAreBytesOfAnyKind) {
  const std::string zero("a\0b", 3);
  const std::string user("u\0v", 3);
  for (const std::string& id :
       {zero, std::string("a"), std::string("a/b é"), std::string(kIdBytesMax, 'x')}) {
    RunTurn(service(), id, user, {UserMessage("m")});
    EXPECT_EQ(StateOf(id, Scope::Owner(user)).record.thread_id, id);
  }
  EXPECT_EQ(service().ListThreads(Scope::Owner(user), {})->threads.size(), 4u);
  EXPECT_EQ(service().BeginRun(RunOn(std::string(kIdBytesMax + 1, 'x')), nullptr).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(service().GetThread(Scope::All(), "").status().code(), StatusCode::kInvalidArgument);
}

TEST_P(ServiceThreadsTest, RemovesMessagesOnlyFromTheThreadThatWasRead) {
  RunTurn(service(), "t", "alice", {UserMessage("a"), AssistantMessage("b"), UserMessage("c")});
  const Scope alice = Scope::Owner("alice");
  const int64_t read = StateOf("t", alice).record.updated_micros;
  EXPECT_EQ(service().RemoveMessages({Scope::Owner("bob"), "t", read, {"a"}}).code(),
            StatusCode::kNotFound);
  EXPECT_EQ(service().RemoveMessages({alice, "t", read - 1, {"a"}}).code(), StatusCode::kBusy);
  EXPECT_EQ(service().RemoveMessages({alice, "t", read, {"a", "unknown"}}).code(),
            StatusCode::kBusy);
  EXPECT_EQ(Ids(StateOf("t", alice).window), (std::vector<std::string>{"a", "b", "c"}));

  BeginRunRequest run = RunOn("t", "alice");
  Result<BeginRunReply> begun = service().BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(service().RemoveMessages({alice, "t", read, {"a"}}).code(), StatusCode::kBusy);
  ASSERT_TRUE(service().FinishRun(FinishOf(run, *begun)).ok());

  const int64_t now = StateOf("t", alice).record.updated_micros;
  ASSERT_TRUE(service().RemoveMessages({alice, "t", now, {"a", "b"}}).ok());
  EXPECT_EQ(Ids(StateOf("t", alice).window), (std::vector<std::string>{"c"}));
  EXPECT_EQ(service().GetMessage(alice, "t", "a").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace agent_graph::state
