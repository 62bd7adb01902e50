// Writes a session into its thread, behind its back: sound goes on while the state service works.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
    std::string node;                                                 // the root agent
    std::chrono::milliseconds finish_max = std::chrono::seconds(20);  // that Finish takes
  };

  explicit Journal(Options options);

  void Append(Message message);
  // An answer of the model that took so long, up to now.
  void AddModelCall(const std::string& agent, const std::string& model, Duration duration,
                    std::string_view stop_reason);
  // `done` is called on the writer's fiber when the handle is in the thread's metadata; never when
  // the thread is lost.
  void StoreHandle(std::string handle, std::function<void()> done);
  // What waits for the state service. Nothing bounds it but the caller.
  size_t unwritten_bytes() const { return queued_bytes_ + logged_bytes_; }
  // Somebody asked the run to stop.
  bool stop_requested() const { return stop_requested_; }
  // The thread was deleted, or belongs to another run now: nothing more is kept.
  bool lost() const { return lost_; }
  // `changed` tells when one of these becomes true.
  void OnEnd(std::function<void()> changed) { changed_ = std::move(changed); }

  // Writes what is left, names a thread that is new, releases the lease, and hands what happened to
  // exporters; suspends. What takes longer than it may goes on behind it. `status` as of
  // state::FinishRun.
  void Finish(const std::string& status);

  // For tools, which write between the messages; taken back when they are done.
  run::RunLog MakeLog() const;
  void TakeBack(run::RunLog& log);
  const run::RunEnvironmentPtr& environment() const { return options_.environment; }

 private:
  struct Entry {
    Message message = {};
    std::string message_json = {};
    std::string model_call = {};  // not empty: this entry of the log instead
    std::string handle = {};      // not empty: this instead
    std::function<void()> done = {};

    size_t bytes() const;
  };

  void Push(Entry entry);
  Entry Pop();
  void AddToLog(Entry entry);
  void Wake();
  void Write();
  Status WriteHandle(const std::string& handle);
  void Lose(const Status& status);
  void Release(const std::string& status);
  std::string NameThread();
  void Report(const std::string& status);

  const Options options_;
  run::RunLog log_;
  std::deque<Entry> queue_;
  size_t queued_bytes_ = 0;
  size_t logged_bytes_ = 0;                      // in log_, not yet appended
  std::vector<Message> first_messages_;          // what a new thread is named after
  std::vector<state::LogEntry> tools_recorded_;  // for exporters
  int64_t started_micros_ = 0;
  std::function<void()> changed_;
  bool writing_ = false;
  std::optional<std::string> late_status_;  // the session is over: who writes releases the lease
  bool stop_requested_ = false;
  bool lost_ = false;
  runtime::Signal idle_;
};

}  // namespace agent_graph::live
