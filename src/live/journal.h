// Writes a session into its thread in the background, so that audio does not wait for the state
// service.
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
#include "run/log/log_entry.h"
#include "run/log/run_log.h"
#include "run/run_environment.h"
#include "run/run_request.h"
#include "runtime/signal.h"
#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::live {

// Holds the thread's lease from Begin on. All calls are made on the session's fiber. A second fiber
// of the same engine thread writes; it exists only while there is something to write. Only Finish
// and IsDeleted suspend.
class Journal : public std::enable_shared_from_this<Journal> {
 public:
  struct Options {
    state::Service* state = nullptr;  // null: nothing is stored
    run::RunRequest request;          // names the thread
    run::RunEnvironmentPtr environment;
    state::BeginRunReply begun;
    std::string node;                                                 // the root agent
    std::chrono::milliseconds finish_max = std::chrono::seconds(20);  // maximum wait of Finish
  };

  explicit Journal(Options options);

  // Queues a message for the thread. Sets its id and time if it has none.
  void Append(Message message);
  // Adds a log entry for an answer of the model that took `duration` and ended now.
  void AddModelCall(const std::string& agent, const std::string& model, Duration duration,
                    std::string_view stop_reason);
  // Stores the provider's resumption handle in the thread's metadata, and then calls `done` on the
  // writer's fiber. `done` is never called after the thread was lost.
  void StoreHandle(std::string handle, std::function<void()> done);
  // Bytes that wait for the state service. The journal has no limit; the caller must enforce one.
  size_t unwritten_bytes() const { return queued_bytes_ + logged_bytes_; }
  // Those, and the texts that will name a new thread.
  size_t held_bytes() const { return unwritten_bytes() + naming_bytes_; }
  // A client asked the run to stop.
  bool stop_requested() const { return stop_requested_; }
  // The thread was deleted or belongs to another run: nothing more is stored.
  bool lost() const { return lost_; }
  // Asks the state whether the thread was deleted. That stops its run, too.
  bool IsDeleted() const;
  // `changed` is called on the writer's fiber when stop_requested() or lost() becomes true.
  void OnEnd(std::function<void()> changed) { changed_ = std::move(changed); }

  // Writes the remaining entries, names a new thread, releases the lease, and passes the run's
  // record to exporters. Waits for the writer for Options::finish_max at most; one that takes
  // longer continues and releases the lease itself. Naming and releasing have limits of their own,
  // so the call may suspend for longer. `status` as in state::FinishRunRequest.
  void Finish(const std::string& status);

  // A log for tools, which write between the messages. Pass it to TakeToolRecord when they have
  // finished.
  run::RunLog MakeLog() const;
  void TakeToolRecord(run::RunLog& log);
  const run::RunEnvironmentPtr& environment() const { return options_.environment; }

 private:
  struct Entry {
    Message message = {};
    std::string message_json = {};
    // If set, this log entry is written and not the message.
    std::optional<run::entry::ModelFinished> model_call = {};
    std::string handle = {};  // if not empty, this handle is written and not the message
    std::function<void()> done = {};

    size_t bytes() const;
  };

  bool NamesThread() const;
  void KeepForName(const Message& message);
  void Push(Entry entry);
  Entry Pop();
  void AddToLog(Entry entry);
  void Wake();
  void Write();
  Status WriteHandle(const std::string& handle);
  void OnWriteFailed(const Status& status);
  void Release(const std::string& status);
  std::string NameThread();
  void Report(const std::string& status);

  const Options options_;
  run::RunLog log_;
  std::deque<Entry> queue_;
  size_t queued_bytes_ = 0;
  size_t logged_bytes_ = 0;                      // in log_ and not yet appended to the thread
  std::vector<Message> first_messages_;          // their texts name a new thread
  size_t naming_bytes_ = 0;                      // of these texts
  std::vector<state::LogEntry> tools_recorded_;  // for exporters
  int64_t started_micros_ = 0;
  std::function<void()> changed_;
  bool writing_ = false;
  // Set if Finish did not wait until the end: the writer then releases the lease.
  std::optional<std::string> late_status_;
  bool stop_requested_ = false;
  bool lost_ = false;
  runtime::Signal idle_;
};

}  // namespace agent_graph::live
