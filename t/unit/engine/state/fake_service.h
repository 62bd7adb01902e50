// The fake of state::Service for tests of code that uses it. It keeps the threads of runs in
// memory. Every operation is a gmock method, so a test can expect a call and choose its reply;
// wrap it in testing::NiceMock.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "state/requests.h"
#include "state/service.h"

namespace agent_graph::state {

class FakeService : public Service {
 public:
  struct Thread {
    ThreadState state;
    std::vector<LogEntry> log;
    std::vector<std::string> places;  // current_node of each append
    bool leased = false;
    uint64_t epoch = 0;
    uint64_t sequence = 0;    // sequence of the newest message
    std::string last_status;  // "handed_over" for a run that was given back
  };

  FakeService() {
    using testing::_;
    using testing::Return;
    ON_CALL(*this, BeginRun).WillByDefault([this](const BeginRunRequest& run, const auto*) {
      return BeginInMemory(run);
    });
    ON_CALL(*this, AppendRun).WillByDefault([this](const AppendRunRequest& append) {
      return AppendInMemory(append);
    });
    ON_CALL(*this, FinishRun).WillByDefault([this](const FinishRunRequest& finish) {
      return FinishInMemory(finish);
    });
    ON_CALL(*this, GetThread).WillByDefault([this](const Scope&, const std::string& thread_id) {
      return FindThread(thread_id);
    });
    ON_CALL(*this, GetMessage)
        .WillByDefault(
            [this](const Scope&, const std::string& thread_id, const std::string& message_id) {
              return FindMessage(thread_id, message_id);
            });
    ON_CALL(*this, ReplaceRemoteTools).WillByDefault([this](const ReplaceRemoteToolsRequest& set) {
      ++remote_tools.version;
      remote_tools.generation = set.generation;
      remote_tools.tools = set.tools;
      return Status::Ok();
    });
    ON_CALL(*this, GetRemoteTools).WillByDefault([this]() -> Result<RemoteTools> {
      ++remote_tools_reads;
      if (on_remote_tools_read) on_remote_tools_read();
      return remote_tools;
    });
    ON_CALL(*this, ReadRuns).WillByDefault(Return(RunTraces()));
    // Operations that a test must expect before it uses them.
    const Status unexpected(StatusCode::kInternal, "the test expects no such call");
    ON_CALL(*this, RequestStop).WillByDefault(Return(unexpected));
    ON_CALL(*this, FindWaitingThread).WillByDefault(Return(unexpected));
    ON_CALL(*this, AcceptRun).WillByDefault(Return(unexpected));
    ON_CALL(*this, ClaimKey).WillByDefault(Return(unexpected));
    ON_CALL(*this, FindKey).WillByDefault(Return(unexpected));
    ON_CALL(*this, HandOverRun)
        .WillByDefault([this](const std::string& thread_id, const std::string&, uint64_t) {
          return HandOverInMemory(thread_id);
        });
    ON_CALL(*this, GetRun).WillByDefault(Return(unexpected));
    ON_CALL(*this, ListRuns).WillByDefault(Return(unexpected));
    ON_CALL(*this, FollowRun).WillByDefault(Return(unexpected));
    ON_CALL(*this, WatchRun).WillByDefault(Return(unexpected));
    ON_CALL(*this, PublishPiece).WillByDefault(Return(unexpected));
    ON_CALL(*this, GetRunTotals).WillByDefault(Return(unexpected));
    ON_CALL(*this, ListThreads).WillByDefault(Return(unexpected));
    ON_CALL(*this, DeleteThread).WillByDefault(Return(unexpected));
    ON_CALL(*this, GetState).WillByDefault([this](const Scope&, const std::string& thread_id) {
      return FindState(thread_id);
    });
    ON_CALL(*this, GetStateUpTo)
        .WillByDefault([this](const GetStateUpToRequest& get) -> Result<GetStateUpToReply> {
          AG_ASSIGN_OR_RETURN(ThreadState state, GetState(get.scope, get.thread_id));
          return GetStateUpToReply{.state = std::move(state)};
        });
    ON_CALL(*this, PutState).WillByDefault(Return(unexpected));
    ON_CALL(*this, ClearState).WillByDefault(Return(unexpected));
    ON_CALL(*this, ListMessages).WillByDefault(Return(unexpected));
    ON_CALL(*this, DeleteMessage).WillByDefault(Return(unexpected));
    ON_CALL(*this, AppendMessages).WillByDefault(Return(unexpected));
    ON_CALL(*this, RemoveMessages).WillByDefault(Return(unexpected));
    ON_CALL(*this, ReadLog).WillByDefault(Return(unexpected));
  }

  MOCK_METHOD(Result<BeginRunReply>, BeginRun,
              (const BeginRunRequest&, const runtime::Cancellation*), (override));
  MOCK_METHOD(Result<AppendRunReply>, AppendRun, (const AppendRunRequest&), (override));
  MOCK_METHOD(Status, FinishRun, (const FinishRunRequest&), (override));
  MOCK_METHOD(Result<StopReply>, RequestStop, (const StopRequest&), (override));
  MOCK_METHOD(Result<AcceptRunReply>, AcceptRun, (const AcceptRunRequest&), (override));
  MOCK_METHOD(Result<KeyRecord>, ClaimKey, (const ClaimKeyRequest&), (override));
  MOCK_METHOD(Result<KeyRecord>, FindKey, (const FindKeyRequest&), (override));
  MOCK_METHOD(Status, HandOverRun, (const std::string&, const std::string&, uint64_t), (override));
  MOCK_METHOD(Result<RunRecord>, GetRun, (const GetRunRequest&), (override));
  MOCK_METHOD(Result<RunPage>, ListRuns, (const ListRunsRequest&), (override));
  MOCK_METHOD(Result<FollowRunReply>, FollowRun,
              (const FollowRunRequest&, const runtime::Cancellation*), (override));
  MOCK_METHOD(Result<WatchRunReply>, WatchRun,
              (const WatchRunRequest&, const runtime::Cancellation*), (override));
  MOCK_METHOD(Result<PublishPieceReply>, PublishPiece, (const PublishPieceRequest&), (override));
  MOCK_METHOD(Result<RunTotals>, GetRunTotals, (const runtime::Cancellation*), (override));
  MOCK_METHOD(Result<WaitingThread>, FindWaitingThread, (const WaitingThreadQuery&), (override));
  MOCK_METHOD(Result<ThreadRecord>, GetThread, (const Scope&, const std::string&), (override));
  MOCK_METHOD(Result<ThreadPage>, ListThreads, (const Scope&, const PageRequest&), (override));
  MOCK_METHOD(Status, DeleteThread, (const Scope&, const std::string&), (override));
  MOCK_METHOD(Result<ThreadState>, GetState, (const Scope&, const std::string&), (override));
  MOCK_METHOD(Result<GetStateUpToReply>, GetStateUpTo, (const GetStateUpToRequest&), (override));
  MOCK_METHOD(Result<ThreadState>, PutState, (const PutStateRequest&), (override));
  MOCK_METHOD(Status, ClearState, (const Scope&, const std::string&), (override));
  MOCK_METHOD(Result<MessagePage>, ListMessages,
              (const Scope&, const std::string&, const PageRequest&), (override));
  MOCK_METHOD(Result<StoredMessage>, GetMessage,
              (const Scope&, const std::string&, const std::string&), (override));
  MOCK_METHOD(Status, DeleteMessage, (const Scope&, const std::string&, const std::string&),
              (override));
  MOCK_METHOD(Status, AppendMessages, (const AppendMessagesRequest&), (override));
  MOCK_METHOD(Status, RemoveMessages, (const RemoveMessagesRequest&), (override));
  MOCK_METHOD(Result<std::vector<LogEntry>>, ReadLog,
              (const Scope&, const std::string&, uint64_t, uint64_t), (override));
  MOCK_METHOD(Result<RunTraces>, ReadRuns, (const ReadRunsRequest&), (override));
  MOCK_METHOD(Status, ReplaceRemoteTools, (const ReplaceRemoteToolsRequest&), (override));
  MOCK_METHOD(Result<RemoteTools>, GetRemoteTools, (), (override));
  std::string TypeName() const override { return "fake"; }

  // Called before each Begin, Append and Finish, outside the lock. A failed Status is returned
  // instead.
  std::function<Status(const BeginRunRequest&)> before_begin;
  std::function<Status(const AppendRunRequest&)> before_append;
  std::function<Status(const FinishRunRequest&)> before_finish;
  bool stop_requested = false;
  // Size of the state that BeginRun omits, if the caller permits that.
  uint64_t omitted_bytes = 0;
  std::string hidden_id;  // a message id in the history but not in the window
  std::function<void()> on_remote_tools_read;
  RemoteTools remote_tools;
  int remote_tools_reads = 0;

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

 private:
  Result<BeginRunReply> BeginInMemory(const BeginRunRequest& run) {
    if (before_begin) AG_RETURN_IF_ERROR(before_begin(run));
    std::lock_guard lock(mutex_);
    BeginRunReply reply;
    reply.created = !threads_.contains(run.thread_id);
    if (run.new_thread_only && !reply.created) return Status(StatusCode::kConflict, "exists");
    Thread& thread = threads_[run.thread_id];
    if (thread.leased) return Status(StatusCode::kBusy, "busy");
    thread.leased = true;
    reply.thread_number = 1;
    reply.log_index = thread.log.size();
    reply.lease_epoch = ++thread.epoch;
    thread.state.record.thread_id = run.thread_id;
    if (run.reply_bytes_max && omitted_bytes > *run.reply_bytes_max) {
      reply.omitted_bytes = omitted_bytes;
    } else {
      reply.state = thread.state;
    }
    reply.remote_tools_version = remote_tools.version;
    return reply;
  }

  Result<ThreadState> FindState(const std::string& thread_id) {
    std::lock_guard lock(mutex_);
    const auto found = threads_.find(thread_id);
    if (found == threads_.end()) return Status(StatusCode::kNotFound, "thread not found");
    return found->second.state;
  }

  Result<AppendRunReply> AppendInMemory(const AppendRunRequest& append) {
    if (before_append) AG_RETURN_IF_ERROR(before_append(append));
    std::lock_guard lock(mutex_);
    AG_RETURN_IF_ERROR(Apply(append));
    return AppendRunReply{stop_requested};
  }

  Status FinishInMemory(const FinishRunRequest& finish) {
    if (before_finish) AG_RETURN_IF_ERROR(before_finish(finish));
    std::lock_guard lock(mutex_);
    AG_RETURN_IF_ERROR(Apply(finish.append));
    Thread& thread = threads_[finish.append.thread_id];
    if (!finish.state_unread) thread.state.snapshot = finish.snapshot;
    thread.last_status = finish.status;
    const std::set<std::string> own(finish.forgotten.ids.begin(), finish.forgotten.ids.end());
    std::erase_if(thread.state.window, [&](const StoredMessage& message) {
      const bool loaded = message.sequence > 0 && message.sequence <= finish.forgotten.through;
      return loaded || own.contains(message.id);
    });
    if (thread.state.record.name.empty()) thread.state.record.name = finish.thread_name;
    thread.leased = false;
    return Status::Ok();
  }

  Status HandOverInMemory(const std::string& thread_id) {
    std::lock_guard lock(mutex_);
    Thread& thread = threads_[thread_id];
    if (thread.leased) thread.last_status = "handed_over";
    thread.leased = false;
    return Status::Ok();
  }

  Status Apply(const AppendRunRequest& append) {
    Thread& thread = threads_[append.thread_id];
    if (!thread.leased || append.lease_epoch != thread.epoch) {
      return Status(StatusCode::kFenced, "the run no longer holds its thread");
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

  Result<ThreadRecord> FindThread(const std::string& thread_id) {
    std::lock_guard lock(mutex_);
    const auto found = threads_.find(thread_id);
    if (found == threads_.end()) return Status(StatusCode::kNotFound, "no such thread");
    return found->second.state.record;
  }

  Result<StoredMessage> FindMessage(const std::string& thread_id, const std::string& message_id) {
    std::lock_guard lock(mutex_);
    for (const auto& message : threads_[thread_id].state.window) {
      if (message.id == message_id) return message;
    }
    if (message_id == hidden_id) return StoredMessage{message_id, 1, "{}"};
    return Status(StatusCode::kNotFound, "no such message");
  }

  std::mutex mutex_;
  std::map<std::string, Thread> threads_;
};

}  // namespace agent_graph::state
