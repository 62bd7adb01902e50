// An executor in this process and channels to it without a gateway, so that the conformance suite
// can run over a backend alone.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"
#include "state/calls/channel.h"
#include "state/calls/executor.h"
#include "state/factory/factory.h"
#include "state/limits.h"

namespace agent_graph::state {

class DirectChannel : public Channel, public std::enable_shared_from_this<DirectChannel> {
 public:
  DirectChannel(std::chrono::milliseconds timeout, std::function<void(GrantedRun)> on_run_granted,
                std::function<void(const RunWatched&)> on_run_watched)
      : timeout_(timeout),
        on_run_granted_(std::move(on_run_granted)),
        on_run_watched_(std::move(on_run_watched)),
        takes_runs_(static_cast<bool>(on_run_granted_)) {}

  Status Start() override { return Status::Ok(); }
  void Stop() override {
    MutexLock lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    if (executor_ != nullptr) executor_->Leave(connection_, client_);
    executor_ = nullptr;
    for (auto& [sequence, pending] : pending_) pending.answer.Set({sequence, NoAnswer(), {}});
    pending_.clear();
  }
  const BackendCounters& counters() const override { return counters_; }
  void RefuseGrants() override {
    MutexLock lock(mutex_);
    takes_runs_ = false;
    if (executor_ != nullptr) executor_->RefuseGrants(connection_, client_);
  }

  // Connects to the next executor and sends it every request that is not answered.
  void Connect(Executor* executor) {
    MutexLock lock(mutex_);
    if (stopped_) return;
    executor_ = executor;
    connection_ = std::make_shared<Connection>(weak_from_this());
    ClientHello hello{
        .client = client_, .process = getpid(), .answers_pings = true, .takes_runs = takes_runs_};
    for (const auto& [run, holding] : held_) {
      hello.held.push_back({run.first, run.second, holding.lease_epoch});
    }
    executor_->Connect(connection_, std::move(hello));
    for (auto& [sequence, pending] : pending_) {
      pending.queued = false;
      Send(sequence, pending);
    }
  }
  // Disconnects. Call with `to_next` null when the executor ends.
  void Disconnect() {
    MutexLock lock(mutex_);
    if (executor_ != nullptr) executor_->Disconnect(connection_, client_);
    executor_ = nullptr;
  }
  void DropConnection() {
    Executor* executor = nullptr;
    {
      MutexLock lock(mutex_);
      executor = executor_;
    }
    Disconnect();
    if (executor != nullptr) Connect(executor);
  }

  std::string BeginRequest(Operation operation, int64_t micros) const override {
    std::string request(1, static_cast<char>(operation));
    request.append(reinterpret_cast<const char*>(&micros), sizeof micros);
    return request;
  }

  Result<std::string> Call(std::string request, const CallOptions& options) override {
    if (options.taken != nullptr) *options.taken = false;
    runtime::Promise<Reply> answer;
    uint64_t sequence = 0;
    {
      MutexLock lock(mutex_);
      if (stopped_) return NoAnswer();
      if (request.size() > kReplyBytesMax) {
        return Status(StatusCode::kInvalidArgument, "too large for the state service");
      }
      sequence = Add(std::move(request), answer, {});
    }
    if (options.taken != nullptr) *options.taken = true;
    const Deadline deadline = DeadlineAfter(timeout_);
    Result<Reply> reply = answer.Wait(options.cancellation, deadline);
    if (!reply.ok() && options.queued_wait.count() > 0 && IsQueued(sequence)) {
      reply = answer.Wait(options.cancellation, deadline + options.queued_wait);
    }
    if (reply.ok()) {
      if (!reply->status.ok()) return reply->status;
      return std::move(reply->body);
    }
    MutexLock lock(mutex_);
    pending_.erase(sequence);
    if (options.cancellation != nullptr && options.cancellation->cancelled()) {
      return runtime::WakeStatus(runtime::WakeReason::kCancelled, options.cancellation);
    }
    return NoAnswer();
  }

  Status Hold(const std::string& thread_id, const std::string& run_id, uint64_t granted_epoch,
              const runtime::Cancellation* cancellation) override {
    MutexLock lock(mutex_);
    Holding holding;
    holding.lease_epoch = granted_epoch;
    if (cancellation != nullptr) holding.cancellation = *cancellation;
    const auto [held, is_new] = held_.try_emplace({thread_id, run_id}, holding);
    if (is_new) return Status::Ok();
    if (granted_epoch != 0 && held->second.lease_epoch > granted_epoch) {
      return Status(StatusCode::kFenced, "the run was granted again");
    }
    if (std::exchange(held->second.granted, false)) {
      held->second.cancellation = holding.cancellation;
      return Status::Ok();
    }
    return Status(held->second.released ? StatusCode::kUnavailable : StatusCode::kConflict,
                  "a run with this id is held");
  }
  void Unhold(const std::string& thread_id, const std::string& run_id) override {
    MutexLock lock(mutex_);
    held_.erase({thread_id, run_id});
  }
  void UnholdAttempt(const std::string& thread_id, const std::string& run_id,
                     uint64_t lease_epoch) override {
    MutexLock lock(mutex_);
    Forget({thread_id, run_id}, lease_epoch);
  }
  void Release(const std::string& thread_id, const std::string& run_id,
               uint64_t lease_epoch) override {
    std::string request = BeginRequest(Operation::kReleaseRun, UnixMicros());
    pack::Packer packer(request);
    pack::Pack(packer, ReleaseRunRequest{thread_id, run_id, lease_epoch});
    MutexLock lock(mutex_);
    if (stopped_) return;
    if (Holds({thread_id, run_id}, lease_epoch)) held_.at({thread_id, run_id}).released = true;
    Add(std::move(request), {}, HeldRun{thread_id, run_id, lease_epoch});
  }

 private:
  using Run = std::pair<std::string, std::string>;  // thread and run id
  struct Holding {
    std::optional<runtime::Cancellation> cancellation;
    bool released = false;
    bool granted = false;
    uint64_t lease_epoch = 0;
  };
  struct Pending {
    std::string request;
    runtime::Promise<Reply> answer;
    std::optional<HeldRun> released;
    bool queued = false;
  };

  class Connection : public ClientConnection {
   public:
    explicit Connection(std::weak_ptr<DirectChannel> channel) : channel_(std::move(channel)) {}
    uint64_t id() const override { return id_; }
    void SendAll(std::vector<ClientMessage> messages) override {
      const std::shared_ptr<DirectChannel> channel = channel_.lock();
      for (ClientMessage& message : messages) {
        if (channel != nullptr) channel->Receive(*this, std::move(message));
      }
    }
    void Executed(size_t) override {}

   private:
    static inline std::atomic<uint64_t> next_id_{1};
    const uint64_t id_ = next_id_++;
    const std::weak_ptr<DirectChannel> channel_;
  };

  static constexpr size_t kHeaderBytes = 1 + sizeof(int64_t);

  static Status NoAnswer() {
    return Status(StatusCode::kUnavailable, "the executor did not answer in time");
  }

  // This attempt of the run, or, for epoch 0, any.
  bool Holds(const Run& run, uint64_t lease_epoch) AG_REQUIRES(mutex_) {
    const auto held = held_.find(run);
    if (held == held_.end()) return false;
    return lease_epoch == 0 || held->second.lease_epoch <= lease_epoch;
  }
  void Forget(const Run& run, uint64_t lease_epoch) AG_REQUIRES(mutex_) {
    if (Holds(run, lease_epoch)) held_.erase(run);
  }

  uint64_t Add(std::string request, runtime::Promise<Reply> answer, std::optional<HeldRun> released)
      AG_REQUIRES(mutex_) {
    const uint64_t sequence = next_sequence_++;
    const auto [place, added] = pending_.emplace(
        sequence, Pending{std::move(request), std::move(answer), std::move(released)});
    Send(sequence, place->second);
    return sequence;
  }

  void Send(uint64_t sequence, const Pending& pending) AG_REQUIRES(mutex_) {
    if (executor_ == nullptr) return;
    RequestHeader header;
    header.sequence = sequence;
    header.acknowledged_below = AcknowledgedBelow();
    header.operation = OperationOf(pending);
    pending.request.copy(reinterpret_cast<char*>(&header.micros), sizeof header.micros, 1);
    executor_->Execute({connection_, client_, header, pending.request, kHeaderBytes});
  }

  static Operation OperationOf(const Pending& pending) {
    return static_cast<Operation>(pending.request[0]);
  }

  uint64_t AcknowledgedBelow() AG_REQUIRES(mutex_) {
    const auto oldest = std::find_if(pending_.begin(), pending_.end(), [](const auto& pending) {
      return IsAnswerKept(OperationOf(pending.second));
    });
    return oldest == pending_.end() ? next_sequence_ : oldest->first;
  }

  bool IsQueued(uint64_t sequence) {
    MutexLock lock(mutex_);
    const auto found = pending_.find(sequence);
    return found != pending_.end() && found->second.queued;
  }

  void Receive(const Connection& from, ClientMessage message) {
    if (auto* granted = std::get_if<GrantedRun>(&message)) return ReceiveGrant(from, *granted);
    if (const auto* watched = std::get_if<RunWatched>(&message)) {
      if (on_run_watched_) on_run_watched_(*watched);
      return;
    }
    MutexLock lock(mutex_);
    if (connection_.get() != &from) return;
    if (auto* reply = std::get_if<Reply>(&message)) {
      const auto found = pending_.find(reply->sequence);
      if (found == pending_.end()) return;
      if (const auto& released = found->second.released) {
        Forget({released->thread_id, released->run_id}, released->lease_epoch);
      }
      const runtime::Promise<Reply> answer = found->second.answer;
      pending_.erase(found);
      ++counters_.answers;
      answer.Set(std::move(*reply));
    } else if (const auto* queued = std::get_if<Queued>(&message)) {
      const auto found = pending_.find(queued->sequence);
      if (found != pending_.end()) found->second.queued = true;
    } else if (const auto* cancel = std::get_if<CancelRun>(&message)) {
      const auto held = held_.find({cancel->thread_id, cancel->run_id});
      if (held == held_.end() || !held->second.cancellation) return;
      held->second.cancellation->Cancel(runtime::CancelReason::kStopped);
    } else if (std::holds_alternative<Ping>(message) && executor_ != nullptr) {
      executor_->OnPong(connection_, client_);
    }
  }

  void ReceiveGrant(const Connection& from, GrantedRun& granted) {
    {
      MutexLock lock(mutex_);
      if (connection_.get() != &from) return;
      Holding holding;
      holding.granted = true;
      holding.lease_epoch = granted.lease_epoch;
      held_.insert_or_assign({granted.thread_id, granted.run_id}, holding);
    }
    on_run_granted_(std::move(granted));
  }

  const std::chrono::milliseconds timeout_;
  const std::function<void(GrantedRun)> on_run_granted_;
  const std::function<void(const RunWatched&)> on_run_watched_;
  const std::string client_ = NewUuid();
  BackendCounters counters_;
  Mutex mutex_;
  bool stopped_ AG_GUARDED_BY(mutex_) = false;
  bool takes_runs_ AG_GUARDED_BY(mutex_);
  Executor* executor_ AG_GUARDED_BY(mutex_) = nullptr;
  std::shared_ptr<Connection> connection_ AG_GUARDED_BY(mutex_);
  uint64_t next_sequence_ AG_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, Pending> pending_ AG_GUARDED_BY(mutex_);
  std::map<Run, Holding> held_ AG_GUARDED_BY(mutex_);
};

// Used by the test's thread.
class DirectHost {
 public:
  explicit DirectHost(const StateOptions& options) : DirectHost(options, MakeStorage(options)) {}
  DirectHost(const StateOptions& options, std::unique_ptr<Storage> storage)
      : timeout_(options.operation_timeout), storage_(std::move(storage)) {}
  ~DirectHost() { Close(); }

  Status Open() {
    AG_ASSIGN_OR_RETURN(executor_,
                        storage_->Open({.wait = [](std::chrono::milliseconds) { return true; },
                                        .on_failed = [] {}}));
    AG_RETURN_IF_ERROR(executor_->Start());
    for (const auto& channel : channels_) channel->Connect(executor_.get());
    return Status::Ok();
  }
  void Close() {
    for (const auto& channel : channels_) channel->Disconnect();
    if (executor_ != nullptr) executor_->Stop();
    executor_.reset();
  }
  std::shared_ptr<DirectChannel> NewChannel(
      std::function<void(GrantedRun)> on_run_granted = {},
      std::function<void(const RunWatched&)> on_run_watched = {}) {
    auto channel = std::make_shared<DirectChannel>(timeout_, std::move(on_run_granted),
                                                   std::move(on_run_watched));
    channels_.push_back(channel);
    if (executor_ != nullptr) channel->Connect(executor_.get());
    return channel;
  }

 private:
  const std::chrono::milliseconds timeout_;
  const std::unique_ptr<Storage> storage_;
  std::unique_ptr<Executor> executor_;
  std::vector<std::shared_ptr<DirectChannel>> channels_;
};

}  // namespace agent_graph::state
