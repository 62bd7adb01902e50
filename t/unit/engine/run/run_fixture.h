// Shared fixture of run tests: a runtime, a graph builder, a scripted model and a sink.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../state/fake_service.h"
#include "agent_graph/graph.h"
#include "agent_graph/json.h"
#include "graph/compiled_graph.h"
#include "models/model.h"
#include "run/loop/runner.h"
#include "run/nodes/remote_tools.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::run {

// Answers each call with the next reply of its script.
class ScriptedModel : public models::ModelProvider {
 public:
  struct Turn {
    std::vector<std::string> pieces = {};
    std::vector<ToolCallBlock> calls = {};
    Status failure = {};
    size_t hidden_bytes = 0;  // see models::ModelDelta
    bool wait_for_cancel = false;
    bool throws = false;
    std::optional<Usage> report = {};  // after the pieces, and before the reply
  };

  std::deque<Turn> script;
  std::vector<models::ModelRequest> requests;
  std::function<void()> on_wait;   // called when a turn starts to wait for its cancellation
  std::function<void()> on_reply;  // called before a turn returns its reply

  Result<models::ModelReply> Generate(
      const models::ModelRequest& request, const runtime::Cancellation& cancellation,
      const std::function<Status(const models::ModelDelta&)>& on_delta) override {
    requests.push_back(request);
    if (script.empty()) return Status(StatusCode::kModel, "the script is over");
    Turn turn = std::move(script.front());
    script.pop_front();
    if (turn.throws) throw std::runtime_error("provider bug");
    models::ModelReply reply;
    reply.model = "scripted-1";
    reply.stop_reason = turn.calls.empty() ? "stop" : "tool_calls";
    std::string text;
    for (const std::string& piece : turn.pieces) {
      text += piece;
      AG_RETURN_IF_ERROR(on_delta({piece, ""}));
    }
    if (turn.hidden_bytes > 0) {
      models::ModelDelta hidden;
      hidden.hidden_bytes = turn.hidden_bytes;
      AG_RETURN_IF_ERROR(on_delta(hidden));
    }
    if (turn.report) {
      models::ModelDelta report;
      report.usage = turn.report;
      AG_RETURN_IF_ERROR(on_delta(report));
    }
    if (turn.wait_for_cancel) {
      if (on_wait) on_wait();
      runtime::Signal never;
      return runtime::WakeStatus(never.Wait(&cancellation, request.deadline), &cancellation);
    }
    if (!turn.failure.ok()) return turn.failure;
    reply.message = Message::Assistant(text);
    for (ToolCallBlock& call : turn.calls) reply.message.content.emplace_back(std::move(call));
    reply.message.usage = Usage{.prompt_tokens = 3, .completion_tokens = 2, .total_tokens = 5};
    if (on_reply) on_reply();
    return reply;
  }
};

class RecordingSink : public RunSink {
 public:
  std::vector<RunStart> starts;
  std::vector<RunEvent> events;
  bool deltas = true;
  bool states = false;
  bool messages = true;
  std::function<Status(const RunEvent&)> on_event;
  struct Held {
    uint64_t thread_bytes;
    uint64_t reply_bytes;
  };
  std::vector<Held> held;
  std::vector<uint64_t> awaited;
  std::function<Status()> on_await = {};
  std::vector<Held> awaited_in_all;
  std::function<Status()> on_await_in_all = {};

  Status OnStart(const RunStart& start) override {
    starts.push_back(start);
    return Status::Ok();
  }
  Status OnEvent(const RunEvent& event) override {
    events.push_back(event);
    return on_event ? on_event(event) : Status::Ok();
  }
  void OnHeld(uint64_t thread_bytes, uint64_t reply_bytes) override {
    held.push_back({thread_bytes, reply_bytes});
  }
  Status AwaitHeld(uint64_t thread_bytes, uint64_t reply_bytes) override {
    awaited_in_all.push_back({thread_bytes, reply_bytes});
    return on_await_in_all ? on_await_in_all() : Status::Ok();
  }
  Status AwaitMemory(uint64_t thread_bytes) override {
    awaited.push_back(thread_bytes);
    return on_await ? on_await() : Status::Ok();
  }
  bool wants_deltas() const override { return deltas; }
  bool wants_states() const override { return states; }
  bool wants_messages() const override { return messages; }

  std::vector<json> Of(RunEvent::Kind kind) const {
    std::vector<json> found;
    for (const RunEvent& event : events) {
      if (event.kind != kind) continue;
      if (kind == RunEvent::Kind::kError) {
        found.push_back({{"code", StatusCodeName(event.error.code())},
                         {"reason", event.error.message()},
                         {"node", event.node}});
        continue;
      }
      bool message = kind != RunEvent::Kind::kUpdate && kind != RunEvent::Kind::kState;
      const std::string& text = message ? event.message_json : event.state_json;
      found.push_back(json::parse(text));
    }
    return found;
  }
};

inline std::string TextOf(const json& message) {
  std::string text;
  for (const json& block : message.at("content")) {
    if (block.at("type") == "text") text += block.at("text").get<std::string>();
  }
  return text;
}

class RunTest : public testing::Test {
 protected:
  RunTest() : runtime_({.threads = 1, .name = "test"}) {
    ON_CALL(state_, FollowRun).WillByDefault([this](const state::FollowRunRequest& read, auto) {
      constexpr size_t kEntriesOfPage = 2;
      const std::vector<state::LogEntry>& log = state_.At(read.thread_id).log;
      state::FollowRunReply reply;
      for (uint64_t i = read.first; i < log.size() && reply.entries.size() < kEntriesOfPage; ++i) {
        reply.entries.push_back({i, 1, log[i]});
      }
      return Result<state::FollowRunReply>(reply);
    });
  }

  void SetUp() override { ASSERT_TRUE(runtime_.Start().ok()); }
  void TearDown() override {
    EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok());
    EXPECT_FALSE(state_.AnyLease());
  }

  static NodeFunction Say(std::string text) {
    return [text](const State&, RunContext&) -> NodeResult { return Message::Assistant(text); };
  }
  void AddAgentWithTools(std::vector<Tool> tools) {
    builder_.AddAgent("MAIN", {.system_prompt = "Be kind.", .tool_node = "TOOLS"});
    builder_.AddToolNode("TOOLS", std::move(tools));
    builder_.AddEdge(START, "MAIN");
    builder_.AddConditionalEdge("MAIN", ToolCallsPending("TOOLS"), {"TOOLS", END});
    builder_.AddEdge("TOOLS", "MAIN");
  }

  RunRequest Ask(const std::string& text, const std::string& thread_id = "t1") {
    RunRequest request;
    request.thread_id = thread_id;
    request.messages = {Message::User(text)};
    return request;
  }

  // Runs to the end on a fiber.
  Result<RunOutcome> Run(const RunRequest& request) {
    auto graph = graph::CompiledGraph::Compile(builder_, "test");
    if (!graph.ok()) return graph.status();
    Runner::Options options = options_;
    options.services.find_model = [this](const std::string& name) -> models::ModelProvider* {
      return name == "default" ? &model_ : nullptr;
    };
    RemoteTools remote_tools(DeclaredRemoteTools(**graph), stored_ ? &state_ : nullptr, "nginx-1",
                             {});
    options.remote_tools = &remote_tools;
    auto runner =
        std::make_shared<Runner>(*graph, stored_ ? &state_ : nullptr, runtime_, std::move(options));
    std::promise<Result<RunOutcome>> done;
    auto result = done.get_future();
    runtime_.Spawn([&, runner] {
      done.set_value(runner->Execute(RunRequest(request), cancellation_, sink_));
    });
    return result.get();
  }
  RunOutcome RunOk(const RunRequest& request) {
    Result<RunOutcome> outcome = Run(request);
    EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
    return outcome.ok() ? std::move(*outcome) : RunOutcome{};
  }

  runtime::Runtime runtime_;
  runtime::Cancellation cancellation_;
  testing::NiceMock<state::FakeService> state_;
  bool stored_ = true;
  ScriptedModel model_;
  RecordingSink sink_;
  GraphBuilder builder_;
  Runner::Options options_;
};

}  // namespace agent_graph::run
