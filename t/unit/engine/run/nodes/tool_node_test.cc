#include "run/nodes/tool_node.h"

#include <gmock/gmock.h>

#include <atomic>

#include "../run_fixture.h"
#include "message/broken_arguments.h"
#include "state/requests.h"
#include "tool_node_fixture.h"

namespace agent_graph::run {
namespace {

TEST_F(ToolNodeTest, CallsRunTogetherAndResultsKeepTheirOrder) {
  // The first call ends only after the second one: in sequence they would never end.
  auto second_done = std::make_shared<std::promise<void>>();
  std::shared_future<void> wait = second_done->get_future();
  auto results = Results({MakeTool("first",
                                   [wait](const json&, ToolContext&) -> ToolOutput {
                                     wait.wait();
                                     return "1";
                                   }),
                          MakeTool("second",
                                   [second_done](const json&, ToolContext&) -> ToolOutput {
                                     second_done->set_value();
                                     return "2";
                                   })},
                         {Call("c1", "first"), Call("c2", "second")});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].at("call_id"), "c1");
  EXPECT_EQ(results[0].at("output"), "1");
  EXPECT_EQ(results[1].at("output"), "2");
  EXPECT_EQ(outcome_.status, RunStatus::kDone);
}

TEST_F(ToolNodeTest, AFailingToolIsAFailedResultNotAFailedRun) {
  auto results = Results({MakeTool("bad",
                                   [](const json&, ToolContext&) -> ToolOutput {
                                     throw std::runtime_error("no network");
                                   })},
                         {Call("c1", "bad")});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].at("is_error"), true);
  EXPECT_EQ(results[0].at("output").at("error"), "\"bad\" failed: no network");
  EXPECT_EQ(outcome_.status, RunStatus::kDone);
  EXPECT_TRUE(sink_.Of(RunEvent::Kind::kError).empty());
}

TEST_F(ToolNodeTest, BadCallsGetFailedResults) {
  Tool tool = MakeTool("echo", [](const json& a, ToolContext&) -> ToolOutput { return a; });
  Tool broken = MakeTool(
      "broken", [](const json&, ToolContext&) { return ToolOutput::FromJsonText("{not json"); });
  Tool huge = MakeTool("huge", [](const json&, ToolContext&) -> ToolOutput {
    return std::string((1 << 20) + 1, 'x');
  });
  auto results = Results({tool, broken, huge},
                         {Call("c1", "echo", "[1]"), Call("c2", "nobody"), Call("c3", "broken"),
                          Call("c4", "huge"), Call("c5", "echo", R"({"x":1})")});
  ASSERT_EQ(results.size(), 5u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(results[i].at("is_error"), true) << i;
  EXPECT_EQ(results[4].at("is_error"), false);
  EXPECT_EQ(results[4].at("output").at("x"), 1);
}

TEST_F(ToolNodeTest, TheLogHasTheReasonOfEachFailedCall) {
  std::mutex mutex;  // the calls are made at the same time
  std::vector<std::string> lines;
  options_.services.log = [&](LogLevel, const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
  };
  options_.services.show_exception_text = false;
  Tool bad = MakeTool("bad", [](const json&, ToolContext&) -> ToolOutput {
    throw std::runtime_error("no network");
  });
  Tool broken = MakeTool(
      "broken", [](const json&, ToolContext&) { return ToolOutput::FromJsonText("{not json"); });
  auto results = Results({bad, broken}, {Call("c1", "bad"), Call("c2", "broken")});
  // The exception's text is for the operator only.
  EXPECT_EQ(results.at(0).at("output").at("error"), "\"bad\" failed");
  EXPECT_THAT(lines,
              testing::UnorderedElementsAre(
                  testing::EndsWith("tool call: \"bad\" failed: no network"),
                  testing::EndsWith("tool call: the output of \"broken\" is not valid JSON")));
}

TEST_F(ToolNodeTest, BrokenArgumentsNeverReachTheTool) {
  Tool tool = MakeTool("echo", [](const json& a, ToolContext&) -> ToolOutput { return a; });
  auto results = Results({tool}, {Call("c1", "echo", message::BrokenArguments("{\"x\":"))});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].at("output").at("error"), "the arguments of \"echo\" are not a JSON object");
}

TEST_F(ToolNodeTest, ArgumentsThatDoNotFitTheSchemaNeverReachTheTool) {
  auto called = std::make_shared<std::atomic<int>>(0);
  Tool tool = MakeTool("book", [called](const json&, ToolContext&) -> ToolOutput {
    ++*called;
    return "booked";
  });
  tool.parameters_json =
      R"({"type":"object","properties":{"seats":{"type":"integer","minimum":1}},)"
      R"("required":["seats"]})";
  auto results = Results({tool}, {Call("c1", "book", R"({"seats":"two"})"), Call("c2", "book"),
                                  Call("c3", "book", R"({"seats":2})")});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].at("is_error"), true);
  EXPECT_EQ(results[0].at("output").at("error"),
            "the arguments of \"book\" do not fit its schema: seats: must be an integer");
  EXPECT_EQ(results[1].at("output").at("error"),
            "the arguments of \"book\" do not fit its schema: seats: is missing");
  EXPECT_EQ(results[2].at("output"), "booked");
  EXPECT_EQ(*called, 1);
}

TEST_F(ToolNodeTest, AToolThatExceedsItsTimeoutIsAbandoned) {
  auto release = std::make_shared<std::promise<void>>();
  std::shared_future<void> released = release->get_future();
  Tool slow = MakeTool("slow", [released](const json&, ToolContext&) -> ToolOutput {
    released.wait();
    return "late";
  });
  slow.timeout = std::chrono::milliseconds(20);
  auto results = Results({slow}, {Call("c1", "slow")});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].at("output").at("error"), "\"slow\" did not finish within 20 ms");
  EXPECT_EQ(outcome_.status, RunStatus::kDone);
  release->set_value();
}

TEST_F(ToolNodeTest, ANonBlockingToolRunsOnTheEngineThread) {
  Tool quick = MakeTool(
      "quick", [](const json&, ToolContext&) -> ToolOutput { return json(runtime::OnFiber()); });
  quick.execution = Execution::kNonBlocking;
  EXPECT_EQ(Results({quick}, {Call("c1", "quick")}).at(0).at("output"), true);
}

TEST_F(ToolNodeTest, TheIdempotencyKeyIsThatOfTheCallAndDiffersBetweenCalls) {
  Tool key = MakeTool("key", [](const json&, ToolContext& context) -> ToolOutput {
    return context.idempotency_key();
  });
  auto results = Results({key}, {Call("c1", "key"), Call("c2", "key")});
  for (const json& result : results) {
    const auto text = result.at("output").get<std::string>();
    EXPECT_EQ(text.size(), 32u);
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos) << text;
  }
  EXPECT_NE(results.at(0).at("output"), results.at(1).at("output"));
}

TEST_F(ToolNodeTest, MoreCallsThanRunAtOnceAllEnd) {
  auto running = std::make_shared<std::atomic<int>>(0);
  std::vector<ToolCallBlock> calls;
  for (int i = 0; i < 100; ++i) calls.push_back(Call(CallId(i), "echo"));
  auto results = Results({MakeTool("echo",
                                   [running](const json&, ToolContext&) -> ToolOutput {
                                     EXPECT_LE(++*running, static_cast<int>(kToolCallsAtOnce));
                                     --*running;
                                     return "ok";
                                   })},
                         calls);
  ASSERT_EQ(results.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(results[static_cast<size_t>(i)].at("call_id"), CallId(i));
  }
}

TEST_F(ToolNodeTest, ACancelledRunLeavesNoCallOpen) {
  auto release = std::make_shared<std::promise<void>>();
  std::shared_future<void> released = release->get_future();
  auto results = Results({MakeTool("wait",
                                   [this, released](const json&, ToolContext& context) {
                                     cancellation_.Cancel(runtime::CancelReason::kStopped);
                                     EXPECT_FALSE(context.SleepFor(std::chrono::hours(1)));
                                     released.wait();
                                     return ToolOutput("never told");
                                   })},
                         {Call("c1", "wait")});
  release->set_value();
  EXPECT_EQ(outcome_.status, RunStatus::kStopped);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].at("is_error"), true);
  EXPECT_EQ(state_.At("t1").state.window.size(), 3u);
  EXPECT_EQ(state_.At("t1").last_status, "stopped");
}

TEST_F(ToolNodeTest, MoreCallsThanAMessageMayHaveAreRefused) {
  std::vector<ToolCallBlock> calls;
  for (int i = 0; i < static_cast<int>(kToolCallsMax) + 1; ++i) {
    calls.push_back(Call(CallId(i), "echo"));
  }
  auto results = Results(
      {MakeTool("echo", [](const json&, ToolContext&) -> ToolOutput { return "ok"; })}, calls);
  ASSERT_EQ(results.size(), kToolCallsMax + 1);
  EXPECT_EQ(results[kToolCallsMax - 1].at("output"), "ok");
  EXPECT_EQ(results[kToolCallsMax].at("is_error"), true);
  EXPECT_EQ(results[kToolCallsMax].at("output").at("error"), "more than 128 calls at once");
}

TEST_F(ToolNodeTest, AnOutputMayBeAsLargeAsItsLimit) {
  const auto echo = [](size_t bytes) {
    return [bytes](const json&, ToolContext&) -> ToolOutput {
      return std::string(bytes - 2, 'x');  // and its quotes
    };
  };
  auto results = Results({MakeTool("largest", echo(kToolOutputBytesMax)),
                          MakeTool("larger", echo(kToolOutputBytesMax + 1))},
                         {Call("c1", "largest"), Call("c2", "larger")});
  EXPECT_EQ(results.at(0).at("is_error"), false);
  EXPECT_EQ(results.at(1).at("output").at("error"),
            "the output of \"larger\" is larger than 1048576 bytes");
}

TEST_F(ToolNodeTest, ACallThatACancelledRunHasNotStartedNeverStarts) {
  Tool stop = MakeTool("stop", [this](const json&, ToolContext&) -> ToolOutput {
    cancellation_.Cancel(runtime::CancelReason::kStopped);
    return "stopped";
  });
  stop.execution = Execution::kNonBlocking;
  auto results = Results({stop}, {Call("c1", "stop"), Call("c2", "stop")});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].at("output"), "stopped");
  EXPECT_EQ(results[1].at("output").at("error"), "\"stop\" was cancelled before it started");
}

TEST_F(ToolNodeTest, MessagesOfResultsAndRemoteCallsNameTheirTool) {
  AddAgentWithTools(
      {MakeTool("echo", [](const json&, ToolContext&) -> ToolOutput { return "ok"; })});
  builder_.AddRemoteTool("TOOLS", {.name = "locate"});
  model_.script = {{.calls = {Call("c1", "echo"), Call("c2", "locate")}}};
  outcome_ = RunOk(Ask("hi"));
  EXPECT_EQ(outcome_.status, RunStatus::kInterrupted);
  json metadata = json::array();
  for (const json& message : json::parse(outcome_.messages_json)) {
    if (message.at("role") == "tool") metadata.push_back(message.at("metadata"));
  }
  EXPECT_EQ(metadata,
            json({{{"tool_name", "echo"}}, {{"is_remote", true}, {"tool_name", "locate"}}}));
  std::vector<json> intents;
  for (const state::LogEntry& entry : state_.At("t1").log) {
    if (entry.kind == "tool_intent") intents.push_back(json::parse(entry.json));
  }
  ASSERT_EQ(intents.size(), 2u);
  EXPECT_EQ(intents[1].at("tool"), "locate");
  EXPECT_EQ(intents[1].at("remote"), true);
}

}  // namespace
}  // namespace agent_graph::run
