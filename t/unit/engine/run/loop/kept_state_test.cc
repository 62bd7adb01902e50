// The state that a run stores in its thread, and its size limits.
#include "../run_fixture.h"
#include "run/log/log_entry.h"
#include "state/limits.h"
#include "state/requests.h"

namespace agent_graph::run {
namespace {

class KeptStateTest : public RunTest {};

TEST_F(KeptStateTest, AThreadThatCannotBeReadIsLeftAsItIs) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  state::ThreadState& stored = state_.At("t1").state;
  stored.window = {{"m1", 1, "not JSON"}};
  stored.snapshot.fields_json = R"({"city":"Rome"})";
  stored.snapshot.summary = "before";
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.status, RunStatus::kError);
  EXPECT_EQ(stored.snapshot.fields_json, R"({"city":"Rome"})");
  EXPECT_EQ(stored.snapshot.summary, "before");
  EXPECT_EQ(stored.window.size(), 1u);
  stored.window.clear();
  stored.snapshot.fields_json = "[";
  EXPECT_EQ(RunOk(Ask("hi")).error.code(), StatusCode::kDataLoss);
  EXPECT_EQ(stored.snapshot.fields_json, "[");
}

TEST_F(KeptStateTest, ARunReportsItsChanges) {
  builder_.AddField({.name = "notes", .reducer = Reducer::kAppend});
  builder_.AddField({.name = "city"}).AddField({.name = "idle"});
  builder_.AddFunction(
      "A", [](const State&, RunContext&) -> NodeResult { return NodeResult().Set("notes", "n"); });
  builder_.AddEdge(START, "A");
  state::FinishRunRequest finished;
  state_.before_finish = [&](const state::FinishRunRequest& finish) {
    finished = finish;
    return Status::Ok();
  };
  RunRequest request = Ask("hi");
  request.initial_state = std::make_shared<const json>(json::parse(R"({"city":"Rome"})"));
  RunOk(request);
  EXPECT_EQ(finished.changed_fields, (std::vector<std::string>{"city", "notes"}));
  EXPECT_FALSE(finished.summary_changed);
  EXPECT_FALSE(finished.state_unread);
}

TEST_F(KeptStateTest, ARunHoldsNoMoreThanItsLimit) {
  options_.services.run_bytes_max = 8 * 1024;
  builder_.AddField({.name = "note"});
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    const std::string text(static_cast<size_t>(std::stoi(state.LastUserText())), 'x');
    return NodeResult(Message::Assistant(state.LastUserText())).Set("note", text);
  });
  builder_.AddFunction("B", [](const State& state, RunContext&) -> NodeResult {
    return Message::Assistant(state.Field("note").get<std::string>());
  });
  builder_.AddEdge(START, "A").AddEdge("A", "B");
  // The node succeeds as long as the old and the new value together are within the limit.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(RunOk(Ask("1000")).status, RunStatus::kDone);
    state_.At("t1").state.window.clear();
  }
  for (const std::string bytes : {"4000", "9000"}) {
    const RunOutcome outcome = RunOk(Ask(bytes));
    EXPECT_EQ(outcome.error.code(), StatusCode::kGraph);
    EXPECT_NE(outcome.error.message().find("limits.run_bytes_max"), std::string::npos);
    EXPECT_EQ(sink_.Of(RunEvent::Kind::kError).back().at("reason"), outcome.error.message());
  }
  // Earlier updates are kept: the message of A and its note, but not that of B.
  const json fields = json::parse(state_.At("t1").state.snapshot.fields_json);
  EXPECT_EQ(fields.at("note").get<std::string>().size(), 4000u);
  EXPECT_EQ(RunOk(Ask("10")).status, RunStatus::kDone);
}

TEST_F(KeptStateTest, ANodeWhoseMessageIsTooLargeChangesNothing) {
  options_.services.run_bytes_max = 8 * 1024;
  builder_.AddField({.name = "note"});
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    NodeResult result;
    const size_t bytes = std::stoul(state.LastUserText());
    result.messages = {Message::Assistant("small"), Message::Assistant(std::string(bytes, 'x'))};
    result.summary = state.LastUserText();
    return result.Set("note", state.LastUserText());
  });
  builder_.AddEdge(START, "A");
  EXPECT_EQ(RunOk(Ask("10")).status, RunStatus::kDone);
  const size_t messages = state_.At("t1").state.window.size();
  const RunOutcome outcome = RunOk(Ask("9000"));
  EXPECT_EQ(outcome.error.code(), StatusCode::kGraph);
  EXPECT_NE(outcome.error.message().find("limits.run_bytes_max"), std::string::npos);
  const state::ThreadState& kept = state_.At("t1").state;
  EXPECT_EQ(kept.window.size(), messages + 1);  // the user's message
  EXPECT_EQ(json::parse(kept.snapshot.fields_json).at("note"), "10");
  EXPECT_EQ(kept.snapshot.summary, "10");
  const std::vector<std::string> kinds = state_.Kinds("t1");
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "state_update"), 1);
}

TEST_F(KeptStateTest, ARequestThatIsTooLargeLeavesAPausedThreadPaused) {
  options_.services.run_bytes_max = 8 * 1024;
  builder_.AddFunction("A", Say("one")).AddFunction("B", Say("two"));
  builder_.AddEdge(START, "A").AddEdge("A", "B").InterruptBefore({"B"});
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kInterrupted);
  const std::string paused = state_.At("t1").state.snapshot.execution_json;
  const RunOutcome outcome = RunOk(Ask(std::string(9000, 'x')));
  EXPECT_EQ(outcome.error.code(), StatusCode::kGraph);
  EXPECT_EQ(state_.At("t1").state.snapshot.execution_json, paused);
  const RunOutcome resumed = RunOk(Ask("go on"));
  EXPECT_EQ(resumed.status, RunStatus::kDone);
  EXPECT_EQ(TextOf(json::parse(resumed.messages_json).back()), "two");
}

TEST_F(KeptStateTest, ARunLeavesNoMoreThanCanBeLoadedAgain) {
  builder_.AddField({.name = "note"});
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    const std::string text(std::stoul(state.LastUserText()), 'x');
    return NodeResult().Set("note", text);
  });
  builder_.AddEdge(START, "A");
  const size_t half = state::kFieldsBytesMax / 2 + 1000;
  EXPECT_EQ(RunOk(Ask(std::to_string(half))).status, RunStatus::kDone);
  // Replaced values do not count.
  EXPECT_EQ(RunOk(Ask(std::to_string(half))).status, RunStatus::kDone);
  const RunOutcome outcome = RunOk(Ask(std::to_string(state::kFieldsBytesMax)));
  EXPECT_EQ(outcome.error.code(), StatusCode::kGraph);
  EXPECT_EQ(outcome.error.message(), "the thread's fields would be larger than 16777216 bytes");
  const json fields = json::parse(state_.At("t1").state.snapshot.fields_json);
  EXPECT_EQ(fields.at("note").get_ref<const std::string&>().size(), half);
  EXPECT_EQ(RunOk(Ask("10")).status, RunStatus::kDone);
}

TEST_F(KeptStateTest, SummaryAndInterruptAreLimitedToo) {
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    const std::string text(state::kSummaryBytesMax, 'x');
    NodeResult result;
    if (state.LastUserText() == "summary") {
      result.summary = text + "x";
    } else {
      result.Pause(text);
    }
    return result;
  });
  builder_.AddEdge(START, "A");
  for (const char* text : {"summary", "interrupt"}) {
    const RunOutcome outcome = RunOk(Ask(text));
    EXPECT_EQ(outcome.error.code(), StatusCode::kGraph) << text;
    EXPECT_FALSE(state_.At("t1").state.snapshot.summary);
  }
}

TEST_F(KeptStateTest, LargeAppendsAreSplit) {
  const size_t mebibyte = 1024 * 1024;
  builder_.AddFunction(
      "A",
      [&](const State&, RunContext&) -> NodeResult {
        NodeResult result;
        for (int i = 0; i < 20; ++i) {
          result.messages.push_back(Message::Assistant(std::string(2 * mebibyte, 'x')));
        }
        return result;
      },
      Execution::kNonBlocking);
  builder_.AddEdge(START, "A");
  const auto check = [&](const state::AppendRunRequest& append) {
    size_t bytes = 0;
    for (const auto& message : append.messages) bytes += message.json.size();
    EXPECT_LT(bytes, 20 * mebibyte);
    return Status::Ok();
  };
  state_.before_append = check;
  state_.before_finish = [&](const state::FinishRunRequest& finish) {
    return check(finish.append);
  };
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kDone);
  EXPECT_EQ(state_.At("t1").state.window.size(), 21u);
  const std::vector<std::string> kinds = state_.Kinds("t1");
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "message"), 21);
  EXPECT_EQ(kinds.back(), "run_finished");
}

TEST_F(KeptStateTest, AThreadThatHoldsTooMuchIsLeftAsItIs) {
  options_.services.run_bytes_max = 1024;
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  const std::string stored = json{{"note", std::string(2000, 'x')}}.dump();
  state_.At("t1").state.snapshot.fields_json = stored;
  EXPECT_EQ(RunOk(Ask("hi")).error.code(), StatusCode::kGraph);
  EXPECT_EQ(state_.At("t1").state.snapshot.fields_json, stored);
}

TEST_F(KeptStateTest, ARunSaysWhetherItChangedTheSummary) {
  builder_.AddField({.name = "a"}).AddField({.name = "b"});
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    NodeResult result;
    if (state.LastUserText() == "summarize") result.summary = "short";
    return result.Set("a", 1).Set("b", "x");
  });
  builder_.AddEdge(START, "A");
  state::FinishRunRequest finished;
  state_.before_finish = [&](const state::FinishRunRequest& finish) {
    finished = finish;
    return Status::Ok();
  };
  RunOk(Ask("hi"));
  EXPECT_FALSE(finished.summary_changed);
  EXPECT_EQ(finished.changed_fields, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(finished.changed_at.size(), 2u);
  RunOk(Ask("summarize"));
  EXPECT_TRUE(finished.summary_changed);
  RunRequest request = Ask("hi");
  request.initial_state = std::make_shared<const json>(json::parse(R"({"context_summary":null})"));
  RunOk(request);
  EXPECT_TRUE(finished.summary_changed);
  EXPECT_FALSE(finished.snapshot.summary);
  entry::StateUpdate update;
  for (const state::LogEntry& stored : state_.At("t1").log) {
    if (stored.kind != entry::StateUpdate::kKind) continue;
    auto decoded = std::get<entry::StateUpdate>(Decode(stored).value());
    if (decoded.summary) update = std::move(decoded);
  }
  EXPECT_EQ(update.node, "A");
  ASSERT_EQ(update.updates.size(), 2u);
  EXPECT_EQ(update.updates[0].name, "a");
  EXPECT_EQ(update.updates[0].value_json, "1");
  EXPECT_EQ(update.updates[1].name, "b");
  EXPECT_EQ(update.updates[1].value_json, R"("x")");
  EXPECT_EQ(update.summary, "short");
}

TEST_F(KeptStateTest, FieldsThatAThreadLacksHaveTheirDefaults) {
  builder_.AddField({.name = "city", .default_json = R"("Rome")"});
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    return Message::Assistant(state.Field("city").get<std::string>());
  });
  builder_.AddEdge(START, "A");
  state_.At("t1").state.snapshot.fields_json = R"({"old":1})";
  EXPECT_EQ(TextOf(json::parse(RunOk(Ask("hi")).messages_json).back()), "Rome");
}

TEST_F(KeptStateTest, MessagesOfARunMayLeaveTheWindowAtItsEnd) {
  builder_.SetContext({.messages_max = 2});
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  RunOk(Ask("before"));
  RunRequest request = Ask("");
  request.messages = {Message::User("a"), Message::User("b"), Message::User("c")};
  for (size_t i = 0; i < 3; ++i)
    request.messages[i].id = std::string(1, static_cast<char>('a' + i));
  state::FinishRunRequest finished;
  state_.before_finish = [&](const state::FinishRunRequest& finish) {
    finished = finish;
    return Status::Ok();
  };
  const RunOutcome outcome = RunOk(request);
  EXPECT_EQ(finished.forgotten.through, 2u);
  EXPECT_EQ(finished.forgotten.ids, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(json::parse(outcome.messages_json).size(), 2u);
  EXPECT_EQ(TextOf(json::parse(outcome.messages_json)[0]), "c");
  EXPECT_EQ(TextOf(json::parse(outcome.messages_json)[1]), "one");
  EXPECT_EQ(state_.At("t1").state.window.size(), 2u);
}

TEST_F(KeptStateTest, AnInterruptMayBeAsLargeAsItsLimit) {
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    NodeResult result;
    result.interrupt =
        Interrupt{std::string(state::kInterruptBytesMax - 2, 'x'), state.LastUserText()};
    return result;
  });
  builder_.AddFunction("B", Say("two")).AddEdge(START, "A").AddEdge("A", "B");
  EXPECT_EQ(RunOk(Ask("[]", "t1")).status, RunStatus::kInterrupted);
  EXPECT_EQ(RunOk(Ask("[1]", "t2")).error.code(), StatusCode::kGraph);
}

}  // namespace
}  // namespace agent_graph::run
