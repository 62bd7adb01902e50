// Writes a session into its thread, behind its back: sound goes on while the state service works.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "agent_graph/message.h"
#include "base/clock.h"
#include "base/status.h"
#include "run/run_environment.h"
#include "run/run_log.h"
#include "run/runner.h"
#include "runtime/signal.h"
#include "state/service.h"

namespace agent_graph::live {

// Holds the thread's lease from Begin on. All calls come on the session's fiber; the writer is a
// fiber of the same engine thread, there only while there is something to write.
class Journal : public std::enable_shared_from_this<Journal> {
 public:
  struct Options {
    state::Service* state = nullptr;  // null: nothing is kept
    run::RunRequest request;          // whose thread it is
    run::RunEnvironmentPtr environment;
    state::BeginRunReply begun;
    std::string node;  // the root agent
  };

  explicit Journal(Options options);

  void Append(Message message);
  // `done` is called on the writer's fiber when the handle is in the thread's metadata.
  void StoreHandle(std::string handle, std::function<void()> done);
  // Somebody asked the run to stop, or its lease is lost; `changed` tells when that becomes true.
  bool stop_requested() const { return stop_requested_; }
  void OnStop(std::function<void()> changed) { changed_ = std::move(changed); }

  // Writes what is left and releases the lease; suspends. `status` as of state::FinishRun.
  void Finish(const std::string& status);

  // For tools, which write between the messages.
  run::RunLog MakeLog() const;
  const run::RunEnvironmentPtr& environment() const { return options_.environment; }

 private:
  struct Entry {
    Message message;
    std::string handle;  // not empty: this instead
    std::function<void()> done;
  };

  void Wake();
  void Write();
  Status WriteHandle(const std::string& handle);
  void Lose(const Status& status);

  const Options options_;
  run::RunLog log_;
  std::deque<Entry> queue_;
  std::function<void()> changed_;
  bool writing_ = false;
  bool stop_requested_ = false;
  bool lost_ = false;
  runtime::Signal idle_;
};

}  // namespace agent_graph::live
