// A server that resets kept connections at their next request.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "scripted_server.h"

namespace agent_graph::testing {

// Answers one request on each of the first `kept` connections, all at the same time, so that a
// client keeps as many. Later requests on these connections are read and reset, and so are requests
// on further connections unless `new_ones_work`.
class ResettingServer {
 public:
  using Answer = std::function<std::string(const std::string& request)>;

  ResettingServer(int kept, bool new_ones_work, Answer answer)
      : kept_(kept),
        new_ones_work_(new_ones_work),
        answer_(std::move(answer)),
        server_([this](Connection& connection) { Serve(connection); }) {}

  const ScriptedServer& server() const { return server_; }
  std::string url(const std::string& path = "/") const { return server_.url(path); }
  // Requests that came after those that filled the client's pool.
  int later_requests() const { return requests_ - kept_; }

 private:
  void Serve(Connection& connection) {
    const bool first = begun_++ < kept_;
    for (bool answered = false;; answered = true) {
      const auto request = connection.ReadRequest();
      if (!request) return;
      ++requests_;
      if (first ? answered : !new_ones_work_) return connection.ResetAtEnd();
      if (first) WaitForAll();
      connection.Send(answer_(*request));
    }
  }

  void WaitForAll() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    all_wait_.notify_all();
    all_wait_.wait(lock, [this] { return waiting_ >= kept_; });
  }

  const int kept_;
  const bool new_ones_work_;
  const Answer answer_;
  std::atomic<int> begun_{0};
  std::atomic<int> requests_{0};
  std::mutex mutex_;
  std::condition_variable all_wait_;
  int waiting_ = 0;  // guarded by mutex_
  ScriptedServer server_;
};

}  // namespace agent_graph::testing
