// A state service in memory. Tests can inspect what a run appends, and can make calls fail.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "state/service.h"

namespace agent_graph::run {

class FakeState : public state::Service {
 public:
  struct Thread {
    state::ThreadState state;
    std::vector<state::LogEntry> log;
    std::vector<std::string> places;  // current_node of each append
    bool leased = false;
    uint64_t epoch = 0;
    uint64_t sequence = 0;  // that of the newest message
    std::string last_status;
  };

  // Called before each Append and Finish, outside the lock. A failed Status is returned instead.
  std::function<Status(const state::AppendRunRequest&)> before_append;
  std::function<Status(const state::FinishRunRequest&)> before_finish;
  bool stop_requested = false;

  Thread& At(const std::string& thread_id) { return threads_[thread_id]; }
  std::vector<std::string> Kinds(const std::string& thread_id) {
    std::vector<std::string> kinds;
    for (const auto& entry : threads_[thread_id].log) kinds.push_back(entry.kind);
    return kinds;
  }
  bool AnyLease() const {
    for (const auto& [id, thread] : threads_) {
      if (thread.leased) return true;
    }
    return false;
  }

  Result<state::BeginRunReply> BeginRun(const state::BeginRunRequest& run,
                                        const runtime::Cancellation*) override {
    std::lock_guard lock(mutex_);
    state::BeginRunReply reply;
    reply.created = !threads_.contains(run.thread_id);
    if (run.new_thread_only && !reply.created) return Status(StatusCode::kConflict, "exists");
    Thread& thread = threads_[run.thread_id];
    if (thread.leased) return Status(StatusCode::kBusy, "busy");
    thread.leased = true;
    reply.lease_epoch = ++thread.epoch;
    thread.state.record.thread_id = run.thread_id;
    reply.state = thread.state;
    reply.remote_tools_version = remote_tools.version;
    return reply;
  }

  Result<state::AppendRunReply> AppendRun(const state::AppendRunRequest& append) override {
    if (before_append) AG_RETURN_IF_ERROR(before_append(append));
    std::lock_guard lock(mutex_);
    AG_RETURN_IF_ERROR(Apply(append));
    return state::AppendRunReply{stop_requested};
  }

  Status FinishRun(const state::FinishRunRequest& finish) override {
    if (before_finish) AG_RETURN_IF_ERROR(before_finish(finish));
    std::lock_guard lock(mutex_);
    AG_RETURN_IF_ERROR(Apply(finish.append));
    Thread& thread = threads_[finish.append.thread_id];
    if (!finish.state_unread) thread.state.snapshot = finish.snapshot;
    thread.last_status = finish.status;
    const std::set<std::string> own(finish.forgotten.ids.begin(), finish.forgotten.ids.end());
    std::erase_if(thread.state.window, [&](const state::StoredMessage& message) {
      const bool loaded = message.sequence > 0 && message.sequence <= finish.forgotten.through;
      return loaded || own.contains(message.id);
    });
    if (thread.state.record.name.empty()) thread.state.record.name = finish.thread_name;
    thread.leased = false;
    return Status::Ok();
  }

  Result<state::StoredMessage> GetMessage(const state::Scope&, const std::string& thread_id,
                                          const std::string& message_id) override {
    std::lock_guard lock(mutex_);
    for (const auto& message : threads_[thread_id].state.window) {
      if (message.id == message_id) return message;
    }
    if (message_id == hidden_id) return state::StoredMessage{message_id, 1, "{}"};
    return Status(StatusCode::kNotFound, "no such message");
  }
  std::string hidden_id;  // a message id in the history but not in the window

  Result<state::RemoteTools> GetRemoteTools() override {
    ++remote_tools_reads;
    if (on_remote_tools_read) on_remote_tools_read();
    return remote_tools;
  }
  std::function<void()> on_remote_tools_read;
  state::RemoteTools remote_tools;
  int remote_tools_reads = 0;

  Result<state::ThreadRecord> GetThread(const state::Scope&,
                                        const std::string& thread_id) override {
    std::lock_guard lock(mutex_);
    const auto found = threads_.find(thread_id);
    if (found == threads_.end()) return Status(StatusCode::kNotFound, "no such thread");
    return found->second.state.record;
  }

  Status ReplaceRemoteTools(const state::ReplaceRemoteToolsRequest& set) override {
    ++remote_tools.version;
    remote_tools.generation = set.generation;
    remote_tools.tools = set.tools;
    return Status::Ok();
  }

  // Not part of a run.
  Result<state::WaitingThread> FindWaitingThread(const state::WaitingThreadQuery&) override {
    return Unused();
  }
  Result<state::StopReply> RequestStop(const state::StopRequest&) override { return Unused(); }
  Result<state::ThreadPage> ListThreads(const state::Scope&, const state::PageRequest&) override {
    return Unused();
  }
  Status DeleteThread(const state::Scope&, const std::string&) override { return Unused(); }
  Result<state::ThreadState> GetState(const state::Scope&, const std::string&) override {
    return Unused();
  }
  Result<state::ThreadState> PutState(const state::PutStateRequest&) override { return Unused(); }
  Status ClearState(const state::Scope&, const std::string&) override { return Unused(); }
  Result<state::MessagePage> ListMessages(const state::Scope&, const std::string&,
                                          const state::PageRequest&) override {
    return Unused();
  }
  Status DeleteMessage(const state::Scope&, const std::string&, const std::string&) override {
    return Unused();
  }
  Status AppendMessages(const state::AppendMessagesRequest&) override { return Unused(); }
  Status RemoveMessages(const state::RemoveMessagesRequest&) override { return Unused(); }
  Result<state::RunTraces> ReadRuns(const state::ReadRunsRequest&) override { return Unused(); }
  Result<std::vector<state::LogEntry>> ReadLog(const state::Scope&, const std::string&, uint64_t,
                                               uint64_t) override {
    return Unused();
  }
  std::string TypeName() const override { return "fake"; }

 private:
  static Status Unused() { return Status(StatusCode::kInternal, "not part of a run"); }

  Status Apply(const state::AppendRunRequest& append) {
    Thread& thread = threads_[append.thread_id];
    if (!thread.leased || append.lease_epoch != thread.epoch) {
      return Status(StatusCode::kFenced, "the run lost its thread");
    }
    thread.places.push_back(append.current_node);
    if (!append.metadata_json.empty()) thread.state.record.metadata_json = append.metadata_json;
    thread.log.insert(thread.log.end(), append.entries.begin(), append.entries.end());
    for (const auto& message : append.messages) {
      thread.state.window.push_back(message);
      thread.state.window.back().sequence = ++thread.sequence;
    }
    return Status::Ok();
  }

  std::mutex mutex_;
  std::map<std::string, Thread> threads_;
};

}  // namespace agent_graph::run
