// Dispatches requests to an echo graph with a fake of the state service.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "../../engine/state/fake_service.h"
#include "agent_graph/json.h"
#include "api/http/dispatch.h"
#include "api/routes.h"
#include "graph/compiled_graph.h"
#include "run/loop/runner.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::api {

using testing::_;
using testing::DoAll;
using testing::NiceMock;
using testing::Return;
using testing::SaveArg;

struct Answer {
  int status = 0;
  bridge::HeaderList headers;
  std::string body;
  std::string outcome;

  json Json() const { return json::parse(body); }
  json Data() const { return Json().at("data"); }
  std::string Header(std::string_view name) const {
    std::string found;
    for (const auto& [key, value] : headers) {
      if (key != name) continue;
      EXPECT_EQ(found, "") << name << " appears twice";
      found = value;
    }
    return found;
  }
  std::vector<json> Lines() const {
    std::vector<json> lines;
    std::istringstream stream(body);
    for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
    return lines;
  }
};

inline NodeResult Echo(const State& state, RunContext&) {
  std::string text = state.LastUserText();
  if (text == "fail") throw std::runtime_error("node is broken");
  return Message::Assistant("you said " + text);
}

inline std::shared_ptr<const graph::CompiledGraph> EchoGraph() {
  GraphBuilder builder;
  builder.AddFunction("ECHO", Echo, Execution::kNonBlocking);
  builder.AddEdge(START, "ECHO").AddEdge("ECHO", END);
  return graph::CompiledGraph::Compile(builder, "echo").value();
}

class DispatchTest : public testing::Test {
 protected:
  DispatchTest() : runtime_({}), runner_(EchoGraph(), nullptr, runtime_, {}), graph_(EchoGraph()) {
    EXPECT_TRUE(runtime_.Start().ok());
    api_.routes = Routes();
    api_.settings = &settings_;
    api_.runner = &runner_;
    api_.state = &state_;
    api_.graph = graph_;
    api_.runtime = &runtime_;
    api_.log = &outbox_;
    api_.ids = &ids_;
    guard_ = auth::Guard::Create(settings_, {}).value();
    api_.guard = guard_.get();
  }
  ~DispatchTest() override { EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok()); }

  bridge::RequestHead Head(const std::string& method, const std::string& target) {
    bridge::RequestHead head;
    size_t question = target.find('?');
    RouteMatch match = MatchRoute({}, method, target.substr(0, question));
    EXPECT_EQ(match.kind, RouteMatch::Kind::kFound) << target;
    head.route = match.route;
    head.path_parameters = match.path_parameters;
    head.method = method;
    head.path = target.substr(0, question);
    if (question != std::string::npos) head.query = target.substr(question + 1);
    head.request_id = "r-1";
    head.headers = {{"accept", accept_}};
    head.headers.insert(head.headers.end(), more_headers_.begin(), more_headers_.end());
    head.run_timeout_ms = run_timeout_ms_;
    return head;
  }

  Answer Send(const std::string& method, const std::string& target, bridge::Body body) {
    auto exchange = std::make_shared<bridge::Exchange>(
        bridge::ExchangeAddress{1, 1}, Head(method, target), outbox_, bridge::CreditLimits{});
    exchange->body().Deliver(std::move(body));
    runtime::Promise<bool> done;
    runtime_.Spawn([=, this] {
      Dispatch(exchange, api_);
      done.Set(true);
    });
    EXPECT_TRUE(done.Wait(nullptr, kNoDeadline).ok());
    return Take();
  }
  Answer Send(const std::string& method, const std::string& target, const std::string& body = "") {
    return Send(method, target, bridge::Body{.bytes = body});
  }

  Answer Take() {
    std::vector<bridge::OutboxItem> items;
    outbox_.Swap(items);
    Answer answer;
    for (bridge::OutboxItem& item : items) {
      if (auto* head = std::get_if<bridge::SendHead>(&item.payload)) {
        EXPECT_EQ(answer.status, 0) << "two heads";
        answer.status = head->head.status;
        answer.headers = head->head.headers;
      } else if (auto* chunk = std::get_if<bridge::SendChunk>(&item.payload)) {
        answer.body += chunk->bytes;
      } else if (auto* end = std::get_if<bridge::End>(&item.payload)) {
        EXPECT_EQ(answer.outcome, "") << "two ends";
        answer.outcome = end->outcome;
      }
    }
    EXPECT_NE(answer.outcome, "") << "no end";
    return answer;
  }

  // Expects status 422, with the first problem at `location`.
  void ExpectInvalid(const Answer& answer, const std::vector<std::string>& location) {
    EXPECT_EQ(answer.status, 422) << answer.body;
    EXPECT_EQ(answer.outcome, "rejected");
    json body = answer.Json();
    EXPECT_TRUE(body["detail"].is_string());
    EXPECT_EQ(body["error"]["code"], "VALIDATION_ERROR");
    EXPECT_EQ(body["error"]["details"].at(0)["loc"], json(location)) << answer.body;
  }

  settings::Settings settings_;
  const IdGenerator ids_;
  bridge::Outbox outbox_;
  runtime::Runtime runtime_;
  run::Runner runner_;
  std::shared_ptr<const graph::CompiledGraph> graph_;
  NiceMock<state::FakeService> state_;
  std::unique_ptr<auth::Guard> guard_;
  ApiContext api_;
  std::string accept_ = "*/*";
  bridge::HeaderList more_headers_;  // names in lower case
  uint64_t run_timeout_ms_ = 0;
};

inline state::ThreadRecord Record(const std::string& id) {
  state::ThreadRecord record;
  record.thread_id = id;
  record.metadata_json = R"({"k":1})";
  record.created_micros = 1781611200000000;
  record.updated_micros = 1781611200250000;
  record.last_run_id = "run";
  return record;
}

inline std::string Invocation(const std::string& text, const std::string& more = "") {
  return R"({"messages":[{"role":"user","content":")" + text + "\"}]" + more + "}";
}

}  // namespace agent_graph::api
