// Runs that the state has accepted, in several attempts.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../run_fixture.h"
#include "message/codec.h"
#include "run/hand_over.h"
#include "run/log/log_entry.h"
#include "run/nodes/tool_call.h"
#include "run/run_request.h"

namespace agent_graph::run {

class ContinuationTest : public RunTest {
 protected:
  ContinuationTest() {
    state_.before_append = [this](const state::AppendRunRequest& append) {
      appends_.push_back(append);
      return Status::Ok();
    };
    state_.before_finish = [this](const state::FinishRunRequest& finish) {
      finished_ = finish;
      return Status::Ok();
    };
  }

  static Tool MakeTool(std::string name, bool idempotent, ToolFunction function) {
    Tool tool;
    tool.name = std::move(name);
    tool.function = std::move(function);
    tool.idempotent = idempotent;
    return tool;
  }

  RunRequest Attempt(uint32_t number, std::string node = "", int64_t step = 0) {
    RunRequest request = Ask("hi");
    request.run_id = "r1";
    request.messages.front().id = "m1";
    request.accepted = AcceptedRun{
        .attempt = number, .current_node = std::move(node), .step = step, .hand_over = hand_over_};
    return request;
  }
  // The attempt that the state grants after the last one has left.
  RunRequest NextAttempt() {
    hand_over_ = std::make_shared<HandOver>(cancellation_ = runtime::Cancellation());
    return Attempt(2, appends_.back().current_node, appends_.back().step);
  }

  // The thread at the time when an attempt had died in the node TOOLS.
  void DieInTools(std::vector<ToolCallBlock> calls, std::vector<EntryBody> entries) {
    auto& thread = state_.At("t1");
    const auto store = [&](Message message, const std::string& id) {
      message.id = id;
      thread.state.window.push_back({id, ++thread.sequence, message::ToJsonText(message)});
    };
    store(Message::User("hi"), "m1");
    Message calling = Message::Assistant("");
    for (ToolCallBlock& call : calls) calling.content.emplace_back(std::move(call));
    store(calling, "m2");
    thread.log.push_back(
        Encode(entry::RunStarted{.run_id = "r1", .graph = "g", .graph_hash = "h"}, 1));
    for (EntryBody& body : entries) thread.log.push_back(Encode(std::move(body), 2));
  }
  static entry::CallRef Ref(const std::string& id, const std::string& tool) {
    return {.node = "TOOLS", .tool = tool, .call_id = id};
  }

  // The key of a call in the message of DieInTools.
  static std::string Key(size_t index) { return IdempotencyKey("t1", "m2", index); }

  std::vector<json> ToolResults(const RunOutcome& outcome) {
    std::vector<json> results;
    for (const json& message : json::parse(outcome.messages_json)) {
      if (message.at("role") == "tool") results.push_back(message.at("content").at(0));
    }
    return results;
  }

  std::shared_ptr<HandOver> hand_over_ = std::make_shared<HandOver>(cancellation_);
  std::vector<state::AppendRunRequest> appends_;
  state::FinishRunRequest finished_;
};

}  // namespace agent_graph::run
