// The record of a finished run, which trace exporters receive.
#include "run/log/run_record.h"

#include "../run_fixture.h"

namespace agent_graph::run {
namespace {

class RunRecordTest : public RunTest {
 protected:
  void SetUp() override {
    RunTest::SetUp();
    options_.services.on_finished = [this](RunRecord record) {
      records_.push_back(std::move(record));
    };
  }
  static std::vector<std::string> Kinds(const RunRecord& record) {
    std::vector<std::string> kinds;
    for (const state::LogEntry& entry : record.entries) kinds.push_back(entry.kind);
    return kinds;
  }
  std::vector<RunRecord> records_;
};

TEST_F(RunRecordTest, NamesTheRunAndHasItsLog) {
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  RunRequest request = Ask("hi");
  request.run_id = "r1";
  request.trace_parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  RunOk(request);
  ASSERT_EQ(records_.size(), 1u);
  const RunRecord& record = records_[0];
  EXPECT_EQ(record.thread_id, "t1");
  EXPECT_EQ(record.run_id, "r1");
  EXPECT_EQ(record.graph_name, "test");
  EXPECT_EQ(record.trace_parent, request.trace_parent);
  EXPECT_EQ(record.status, RunStatus::kDone);
  EXPECT_GT(record.started_micros, 0);
  EXPECT_GE(record.finished_micros, record.started_micros);
  EXPECT_EQ(Kinds(record), state_.Kinds("t1"));
  const json started = json::parse(record.entries.front().json);
  EXPECT_EQ(started.at("run_id"), "r1");
  EXPECT_EQ(started.at("graph"), "test");
  EXPECT_FALSE(started.at("graph_hash").get<std::string>().empty());
  for (size_t i = 0; i < record.entries.size(); ++i) {
    const state::LogEntry& stored = state_.At("t1").log[i];
    EXPECT_EQ(record.entries[i].json, stored.json);
    EXPECT_EQ(record.entries[i].micros, stored.micros);
  }
}

TEST_F(RunRecordTest, IsMadeHoweverTheRunEnds) {
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    if (state.LastUserText() == "fail") throw std::runtime_error("boom");
    if (state.LastUserText() == "ask") return NodeResult().Pause("asked");
    return Message::Assistant("one");
  });
  builder_.AddFunction("B", Say("two")).AddEdge(START, "A").AddEdge("A", "B");
  RunOk(Ask("fail"));
  RunOk(Ask("ask"));
  RunOk(Ask("go on"));
  cancellation_.Cancel(runtime::CancelReason::kStopped);
  RunOk(Ask("hi"));
  std::vector<std::string> statuses;
  for (const RunRecord& record : records_) statuses.emplace_back(RunStatusName(record.status));
  EXPECT_EQ(statuses, (std::vector<std::string>{"error", "interrupted", "done", "stopped"}));
}

TEST_F(RunRecordTest, IsMadeWithoutACheckpointer) {
  stored_ = false;
  builder_.AddFunction("A", Say("one")).AddEdge(START, "A");
  RunOk(Ask("hi", ""));
  ASSERT_EQ(records_.size(), 1u);
  EXPECT_FALSE(records_[0].thread_id.empty());
  const std::vector<std::string> kinds = Kinds(records_[0]);
  EXPECT_EQ(kinds.front(), "run_started");
  EXPECT_EQ(kinds.back(), "run_finished");
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "node_finished"), 1);
}

TEST_F(RunRecordTest, HasOnlyTheBeginningOfALongLog) {
  builder_.AddFunction(
      "A",
      [](const State&, RunContext&) -> NodeResult {
        NodeResult result;
        for (size_t i = 0; i < 1000; ++i) result.messages.push_back(Message::Assistant("x"));
        return result;
      },
      Execution::kNonBlocking);
  builder_.AddEdge(START, "A").AddEdge("A", "A");
  RunRequest request = Ask("hi");
  request.recursion_limit = 3;
  RunOk(request);
  ASSERT_EQ(records_.size(), 1u);
  EXPECT_EQ(records_[0].entries.size(), kRecordEntriesMax);
  EXPECT_EQ(records_[0].entries.front().kind, "run_started");
  EXPECT_GT(state_.At("t1").log.size(), kRecordEntriesMax);
}

}  // namespace
}  // namespace agent_graph::run
