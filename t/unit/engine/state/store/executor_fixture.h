// A StoreExecutor with one client, without a gateway between them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../requests.h"
#include "base/mutex.h"
#include "state/store/executor.h"

namespace agent_graph::state {

class ExecutorClient : public ClientConnection {
 public:
  uint64_t id() const override { return 1; }
  void SendAll(std::vector<ClientMessage>) override {}
  void Executed(size_t) override {
    MutexLock lock(mutex_);
    ++executed_;
    changed_.NotifyAll();
  }

  // The replies of executed requests have been sent, or wait.
  void AwaitExecuted(uint64_t count) {
    MutexLock lock(mutex_);
    while (executed_ < count) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  uint64_t executed_ AG_GUARDED_BY(mutex_) = 0;
};

class ExecutorTest : public testing::Test {
 protected:
  void Start(std::unique_ptr<Database> database, std::shared_ptr<ExecutorClient> client,
             bool answers_pings = false) {
    StoreExecutorOptions options;
    options.epoch = 1;
    options.on_failed = [] {};
    executor_ = std::make_unique<StoreExecutor>(std::move(database), std::move(options));
    ASSERT_TRUE(executor_->Start().ok());
    client_ = std::move(client);
    ClientHello hello;
    hello.client = "client";
    hello.process = getpid();
    hello.answers_pings = answers_pings;
    executor_->Connect(client_, hello);
  }
  void TearDown() override { executor_->Stop(); }

  // Waits until the request is executed.
  template <typename Body>
  void Send(Operation operation, const Body& body) {
    const uint64_t sequence = ++sent_;
    executor_->Execute({client_, "client", {sequence, 0, operation, 1}, pack::ToBytes(body), 0});
    client_->AwaitExecuted(sequence);
  }
  void Append(const std::string& thread_id) {
    Send(Operation::kAppendMessages,
         MessagesOn(thread_id, "", {{"m", 0, R"({"role":"user","content":"hello"})"}}));
  }

  std::unique_ptr<StoreExecutor> executor_;
  std::shared_ptr<ExecutorClient> client_;
  uint64_t sent_ = 0;
};

}  // namespace agent_graph::state
