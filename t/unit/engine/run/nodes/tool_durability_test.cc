// Tool calls in the run log: when intents and results are on disk, and what the log says of a call.
#include <mutex>

#include "../run_fixture.h"
#include "run/nodes/tool_node.h"
#include "state/requests.h"
#include "tool_node_fixture.h"

namespace agent_graph::run {
namespace {

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

// If the worker dies in the first wave, the calls of the next one have certainly not been made.
TEST_F(ToolNodeTest, TheIntentsOfAWaveAreWrittenWhenItBegins) {
  std::vector<ptrdiff_t> intents;
  Tool charge = MakeTool("charge", [&](const json&, ToolContext&) -> ToolOutput {
    const std::vector<std::string> kinds = state_.Kinds("t1");
    intents.push_back(std::count(kinds.begin(), kinds.end(), "tool_intent"));
    return "paid";
  });
  charge.idempotent = false;
  charge.execution = Execution::kNonBlocking;
  constexpr int kAtOnce = static_cast<int>(kToolCallsAtOnce);
  const size_t count = kToolCallsAtOnce + 2;
  std::vector<ToolCallBlock> calls;
  for (int i = 0; i < kAtOnce + 2; ++i) calls.push_back(Call(CallId(i), "charge"));
  EXPECT_EQ(Results({charge}, calls).size(), count);
  ASSERT_EQ(intents.size(), count);
  EXPECT_EQ(intents.front(), static_cast<ptrdiff_t>(kToolCallsAtOnce));
  EXPECT_EQ(intents.back(), static_cast<ptrdiff_t>(count));
  // The results of the first wave are stored before the second one begins.
  const auto& log = state_.At("t1").log;
  const auto last = std::find_if(log.begin(), log.end(), [](const state::LogEntry& entry) {
    return entry.kind == "tool_finished" &&
           json::parse(entry.json).at("call_id") == CallId(kAtOnce - 1);
  });
  ASSERT_NE(last, log.end());
  EXPECT_EQ(json::parse(last->json).at("output"), "paid");
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

TEST_F(ToolNodeTest, TheLogDescribesEachCall) {
  Tool look = MakeTool("look", [](const json&, ToolContext& context) -> ToolOutput {
    context.Log(LogLevel::kInfo, "looking");
    return context.idempotency_key();
  });
  std::mutex mutex;  // the calls are made at the same time
  std::vector<std::string> lines;
  options_.services.log = [&](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  };
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

}  // namespace
}  // namespace agent_graph::run
