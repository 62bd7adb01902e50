// A RunHost of one worker, with a fake state.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../run_fixture.h"
#include "run/host/run_host.h"
#include "run/host/stored_request.h"

namespace agent_graph::run {

class RunHostTest : public RunTest {
 protected:
  RunHostTest() {
    state_.before_finish = [this](const state::FinishRunRequest& finish) {
      finished_ = finish;
      return Status::Ok();
    };
  }

  void TearDown() override {
    RunTest::TearDown();
    EXPECT_EQ(held_, 0);
    if (host_ == nullptr) return;
    EXPECT_EQ(host_->count(), 0u);
  }

  void AddOneNode(NodeFunction function) {
    builder_.AddFunction("A", std::move(function));
    builder_.AddEdge(START, "A");
    builder_.AddEdge("A", END);
  }
  // The second part of a run that waits for memory does not get it. Call before MakeHost.
  void GiveMemoryOnce() {
    host_options_.await_bytes = [this](uint64_t bytes, uint64_t, const runtime::Cancellation&,
                                       Deadline deadline) {
      memory_waits_.push_back(deadline);
      if (memory_waits_.size() > 1) return Status(StatusCode::kDeadlineExceeded, "no room");
      held_ += static_cast<int64_t>(bytes);
      return Status::Ok();
    };
  }
  void MakeHost() {
    auto graph = graph::CompiledGraph::Compile(builder_, "test");
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    Runner::Options options;
    options.services.find_model = [this](const std::string&) { return &model_; };
    runner_ = std::make_unique<Runner>(*graph, &state_, runtime_, std::move(options));
    host_options_.count_bytes = [this](int64_t bytes) { held_ += bytes; };
    host_options_.on_ended = [this](const RunOutcome& outcome, runtime::CancelReason) {
      ended_.push_back(outcome.status);
    };
    host_ = std::make_unique<RunHost>(*runner_, state_, runtime_, host_options_);
  }
  static state::GrantedRun Granted(const std::string& thread_id, uint32_t attempt = 1,
                                   std::string node = "") {
    RunRequest request;
    request.messages = {Message::User("hi")};
    request.messages.front().id = "m1";
    state::GrantedRun granted;
    granted.thread_id = thread_id;
    granted.run_id = "r1";
    granted.attempt = attempt;
    granted.request = *StoreRequest(request, {}, IdGenerator());
    granted.current_node = std::move(node);
    return granted;
  }
  // Waits for the fibers of all runs.
  void Finish() {
    while (host_->count() > 0) std::this_thread::yield();
    ASSERT_TRUE(runtime_.Stop(kNoDeadline).ok());
  }

  RunHostOptions host_options_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<RunHost> host_;
  std::atomic<int64_t> held_ = 0;
  std::vector<Deadline> memory_waits_;  // their deadlines
  state::FinishRunRequest finished_;
  std::vector<RunStatus> ended_;  // read it after Finish
};

}  // namespace agent_graph::run
