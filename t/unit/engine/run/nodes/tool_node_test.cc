#include <atomic>
#include <set>

#include "../run_fixture.h"
#include "run/nodes/tool_node.h"
#include "state/requests.h"

namespace agent_graph::run {
namespace {

class ToolNodeTest : public RunTest {
 protected:
  static Tool MakeTool(std::string name, ToolFunction function) {
    Tool tool;
    tool.name = std::move(name);
    tool.function = std::move(function);
    tool.idempotent = true;
    return tool;
  }
  static ToolCallBlock Call(std::string id, std::string name, std::string arguments = "{}") {
    return {std::move(id), std::move(name), std::move(arguments), false};
  }

  static std::string CallId(int number) {
    std::string id = std::to_string(number);
    id.insert(id.begin(), 'c');
    return id;
  }

  // Runs a model reply with `calls` and then a final reply; returns the tool results in between.
  std::vector<json> Results(std::vector<Tool> tools, std::vector<ToolCallBlock> calls) {
    AddAgentWithTools(std::move(tools));
    model_.script = {{.pieces = {}, .calls = std::move(calls), .failure = {}},
                     {.pieces = {"Done."}, .calls = {}, .failure = {}}};
    outcome_ = RunOk(Ask("hi"));
    std::vector<json> results;
    for (const std::string& text : outcome_.messages_json) {
      json message = json::parse(text);
      if (message.at("role") == "tool") results.push_back(message.at("content").at(0));
    }
    return results;
  }
  RunOutcome outcome_;
};

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

// If a worker dies at this point, only the second call is lost.
TEST_F(ToolNodeTest, EachEndIsWrittenWhileOthersRun) {
  auto written = std::make_shared<std::promise<void>>();
  std::shared_future<void> first_is_written = written->get_future();
  state_.before_append = [&](const state::AppendRunRequest& append) {
    for (const auto& entry : append.entries) {
      if (entry.kind != "tool_finished") continue;
      const json fields = json::parse(entry.json);
      if (fields.at("call_id") != "c1") continue;
      EXPECT_EQ(fields.at("output"), "1");
      written->set_value();
    }
    return Status::Ok();
  };
  auto results =
      Results({MakeTool("first", [](const json&, ToolContext&) -> ToolOutput { return "1"; }),
               MakeTool("second",
                        [first_is_written](const json&, ToolContext&) -> ToolOutput {
                          first_is_written.wait();
                          return "2";
                        })},
              {Call("c1", "first"), Call("c2", "second")});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].at("output"), "1");
  EXPECT_EQ(results[1].at("output"), "2");
  const auto kinds = state_.Kinds("t1");
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "tool_started"), 2);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "tool_finished"), 2);
}

TEST_F(ToolNodeTest, ANonBlockingToolRunsOnTheEngineThread) {
  Tool quick = MakeTool(
      "quick", [](const json&, ToolContext&) -> ToolOutput { return json(runtime::OnFiber()); });
  quick.execution = Execution::kNonBlocking;
  EXPECT_EQ(Results({quick}, {Call("c1", "quick")}).at(0).at("output"), true);
}

TEST_F(ToolNodeTest, IntentsAreOnDiskBeforeAToolThatMustNotRunTwice) {
  bool durable_intent = false;
  state_.before_append = [&](const state::AppendRunRequest& append) {
    for (const auto& entry : append.entries) {
      if (entry.kind == "tool_intent" && append.durable) durable_intent = true;
    }
    return Status::Ok();
  };
  Tool charge = MakeTool("charge", [&](const json&, ToolContext& context) -> ToolOutput {
    EXPECT_TRUE(durable_intent);
    EXPECT_EQ(context.call_id(), "c1");
    return context.idempotency_key();
  });
  charge.idempotent = false;
  auto results = Results({charge}, {Call("c1", "charge")});
  EXPECT_FALSE(results.at(0).at("output").get<std::string>().empty());
  auto kinds = state_.Kinds("t1");
  auto position = [&](const char* kind) { return std::find(kinds.begin(), kinds.end(), kind); };
  EXPECT_LT(position("tool_intent"), position("tool_started"));
  EXPECT_LT(position("tool_started"), position("tool_finished"));
  EXPECT_NE(position("tool_finished"), kinds.end());
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

TEST_F(ToolNodeTest, AToolWhoseIntentCannotBeStoredIsNotCalled) {
  state_.before_append = [](const state::AppendRunRequest& append) {
    for (const auto& entry : append.entries) {
      if (entry.kind == "tool_intent") return Status(StatusCode::kUnavailable, "no state");
    }
    return Status::Ok();
  };
  Tool charge = MakeTool("charge", [](const json&, ToolContext&) -> ToolOutput {
    ADD_FAILURE() << "called without a durable intent";
    return "charged";
  });
  charge.idempotent = false;
  EXPECT_TRUE(Results({charge}, {Call("c1", "charge")}).empty());
  EXPECT_EQ(outcome_.error.code(), StatusCode::kUnavailable);
}

TEST_F(ToolNodeTest, OnlyToolsThatMustNotRunTwiceWaitForTheDisk) {
  int durable = 0;
  state_.before_append = [&](const state::AppendRunRequest& append) {
    durable += append.durable;
    return Status::Ok();
  };
  Tool look = MakeTool("look", [](const json&, ToolContext&) -> ToolOutput { return "seen"; });
  Tool charge = MakeTool("charge", [](const json&, ToolContext&) -> ToolOutput { return "paid"; });
  charge.idempotent = false;
  Results({look, charge}, {Call("c1", "look"), Call("c2", "look")});
  EXPECT_EQ(durable, 0);
  // The order of the calls does not matter.
  model_.script = {{.calls = {Call("c3", "charge"), Call("c4", "look")}}, {.pieces = {"Done."}}};
  RunOk(Ask("hi"));
  EXPECT_EQ(durable, 1);
}

TEST_F(ToolNodeTest, AFailedAppendOfAResultEndsTheRun) {
  auto failed = std::make_shared<std::promise<void>>();
  std::shared_future<void> append_failed = failed->get_future();
  state_.before_append = [&](const state::AppendRunRequest& append) {
    for (const auto& entry : append.entries) {
      if (entry.kind != "tool_finished") continue;
      failed->set_value();
      return Status(StatusCode::kUnavailable, "no state");
    }
    return Status::Ok();
  };
  Results({MakeTool("first", [](const json&, ToolContext&) -> ToolOutput { return "1"; }),
           MakeTool("second",
                    [append_failed](const json&, ToolContext&) -> ToolOutput {
                      append_failed.wait();
                      return "2";
                    })},
          {Call("c1", "first"), Call("c2", "second")});
  EXPECT_EQ(outcome_.error.code(), StatusCode::kUnavailable);
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

TEST_F(ToolNodeTest, TheLogDescribesEachCall) {
  Tool look = MakeTool("look", [](const json&, ToolContext& context) -> ToolOutput {
    context.Log(LogLevel::kInfo, "looking");
    return context.idempotency_key();
  });
  std::vector<std::string> lines;
  options_.services.log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); };
  Tool charge = look;
  charge.name = "charge";
  charge.idempotent = false;
  Tool fail = MakeTool(
      "fail", [](const json&, ToolContext&) -> ToolOutput { throw std::runtime_error("no"); });
  const auto results =
      Results({look, charge, fail}, {Call("c1", "look"), Call("c2", "charge"), Call("c3", "fail")});
  std::map<std::string, json> entries;
  for (const state::LogEntry& entry : state_.At("t1").log) {
    if (!entry.kind.starts_with("tool_")) continue;
    const json fields = json::parse(entry.json);
    EXPECT_EQ(fields.at("node"), "TOOLS");
    entries[entry.kind + " " + fields.at("call_id").get<std::string>()] = fields;
  }
  ASSERT_EQ(entries.size(), 9u);
  EXPECT_EQ(entries["tool_intent c1"], json({{"node", "TOOLS"},
                                             {"tool", "look"},
                                             {"call_id", "c1"},
                                             {"idempotency_key", results.at(0).at("output")},
                                             {"idempotent", true}}));
  EXPECT_EQ(entries["tool_intent c2"].at("idempotent"), false);
  for (const char* id : {"c1", "c2", "c3"}) {
    const std::string call = id;
    const json& finished = entries["tool_finished " + call];
    EXPECT_EQ(finished.at("is_error"), call == "c3");
    const auto started = entries["tool_started " + call].at("micros").get<int64_t>();
    EXPECT_GT(started, 0);
    EXPECT_GE(finished.at("micros").get<int64_t>(), started);
    EXPECT_EQ(finished.at("duration_micros").get<int64_t>(),
              finished.at("micros").get<int64_t>() - started);
  }
  EXPECT_EQ(
      std::count_if(lines.begin(), lines.end(),
                    [](const std::string& line) { return line.ends_with(" node TOOLS: looking"); }),
      2);
}

TEST_F(ToolNodeTest, MessagesOfResultsAndRemoteCallsNameTheirTool) {
  AddAgentWithTools(
      {MakeTool("echo", [](const json&, ToolContext&) -> ToolOutput { return "ok"; })});
  builder_.AddRemoteTool("TOOLS", {.name = "locate"});
  model_.script = {{.calls = {Call("c1", "echo"), Call("c2", "locate")}}};
  outcome_ = RunOk(Ask("hi"));
  EXPECT_EQ(outcome_.status, RunStatus::kInterrupted);
  json metadata = json::array();
  for (const std::string& text : outcome_.messages_json) {
    const json message = json::parse(text);
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
