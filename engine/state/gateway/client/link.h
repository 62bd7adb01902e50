// The client's connection to the state server. It numbers operations, keeps them until they are
// answered and resends them to the next server.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"
#include "state/backend.h"
#include "state/calls/channel.h"
#include "state/directory/state_directory.h"
#include "state/gateway/wire/protocol.h"
#include "state/gateway/wire/send_queue.h"
#include "state/options.h"

namespace agent_graph::state {

// The Channel of workers. Each Link has one thread that maintains the connection. The calling
// thread writes its request to the socket; its fiber is suspended until the reply arrives. The only
// engine thread of a process also receives its replies itself, so that no other thread has to run
// first; the link's thread receives them while the engine thread is busy for longer. Calls
// survive a change of server: unanswered operations are resent to the new server, which returns the
// stored reply for an operation that was already executed. A call fails with kUnavailable after
// operation_timeout. Only a BeginRun that the server has queued for a busy thread may take longer.
class Link : public Channel, public std::enable_shared_from_this<Link> {
 public:
  // Limit on unanswered requests, and on unsent ones, in bytes; above it calls fail with
  // kResourceExhausted.
  static constexpr size_t kPendingBytesMax = 256 * 1024 * 1024;

  // Uses directory, root_serves and the options of clients.
  explicit Link(StateOptions options, size_t pending_bytes_max = kPendingBytesMax);
  ~Link() override;

  Status Start() override;
  void Stop() override;
  const BackendCounters& counters() const override { return counters_; }
  void RefuseGrants() override;

  std::string BeginRequest(Operation operation, int64_t micros) const override;
  Result<std::string> Call(std::string request, const CallOptions& options) override;

  Status Hold(const std::string& thread_id, const std::string& run_id, uint64_t granted_epoch,
              const runtime::Cancellation* cancellation) override;
  void Unhold(const std::string& thread_id, const std::string& run_id) override;
  void UnholdAttempt(const std::string& thread_id, const std::string& run_id,
                     uint64_t lease_epoch) override;
  void Release(const std::string& thread_id, const std::string& run_id,
               uint64_t lease_epoch) override;

  // Ends the current connection; the link connects again. For tests.
  void DropConnection();

 private:
  struct RunName {
    std::string thread_id;
    std::string run_id;

    friend auto operator<=>(const RunName&, const RunName&) = default;
  };
  struct Holding {
    std::optional<runtime::Cancellation> cancellation;
    bool released = false;     // a Release is in flight
    bool granted = false;      // the run was granted to this client, which has not begun it
    uint64_t lease_epoch = 0;  // epoch of the grant; 0: not known
  };
  struct Pending {
    std::shared_ptr<const std::string> frame;
    runtime::Promise<Reply> answer;
    std::optional<RunName> released;  // set for a Release, which never fails
    uint64_t released_epoch = 0;      // epoch of this attempt; 0: not known
    MonotonicClock::time_point started;
    bool answer_kept = false;  // the server keeps the reply until it is acknowledged
    bool queued = false;       // the server has queued it and replies when its thread is free
  };

  void Run();
  // Serves one connection until it ends. Returns false if the server never sent Welcome.
  bool Serve(FileDescriptor socket);
  bool Receive(int socket) AG_REQUIRES(receiving_);
  bool ReceiveOnLoop(int socket, uint64_t connection);
  void LetLoopReceive() AG_REQUIRES(mutex_);
  // True if an engine thread has received something within kLoopIdleMax.
  bool LoopReceives() const;
  bool OnFrame(std::string_view payload);
  bool OnWelcome(pack::Unpacker& unpacker);
  bool OnCancelRun(pack::Unpacker& unpacker);
  bool OnThreadDeleted(pack::Unpacker& unpacker);
  bool OnGrantedRun(pack::Unpacker& unpacker);
  bool OnRunWatched(pack::Unpacker& unpacker);
  void OnReply(pack::Unpacker& unpacker, std::string_view payload);
  void OnQueued(pack::Unpacker& unpacker);
  bool IsQueued(uint64_t sequence);
  void FailOverdue();
  void WaitForWake(std::chrono::milliseconds duration);
  void Wake();

  static Status NoAnswer();
  // The run, if the client holds this attempt of it and not a later one; 0: any attempt. Null if
  // not.
  Holding* FindHeld(const RunName& run, uint64_t lease_epoch) AG_REQUIRES(mutex_);
  void Forget(const RunName& run, uint64_t lease_epoch) AG_REQUIRES(mutex_);
  void GiveUpOnServer() AG_REQUIRES(mutex_);
  std::string MakeHello() const AG_REQUIRES(mutex_);
  // Numbers the request and keeps it in pending_. Returns its number.
  uint64_t Send(std::string frame, Pending pending) AG_REQUIRES(mutex_);
  uint64_t AcknowledgedBelow() AG_REQUIRES(mutex_);
  // Sends what is unsent at once. On an engine thread, sends it when all fibers that can run have
  // run, so that their requests are sent together.
  void SendSoon() AG_REQUIRES(mutex_);
  void SendNow() AG_REQUIRES(mutex_);

  const StateOptions options_;
  const size_t pending_bytes_max_;
  const std::string id_;
  FileDescriptor wake_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};

  Mutex mutex_;
  FileDescriptor socket_ AG_GUARDED_BY(mutex_);
  bool ready_ AG_GUARDED_BY(mutex_) = false;     // Welcome received on this connection
  bool welcomed_ AG_GUARDED_BY(mutex_) = false;  // the same, still known after it ended
  // No server, or a silent one, for operation_timeout: calls fail at once.
  bool outage_ AG_GUARDED_BY(mutex_) = false;
  MonotonicClock::time_point heard_ AG_GUARDED_BY(mutex_);  // when the server last sent anything
  uint64_t epoch_ AG_GUARDED_BY(mutex_) = 0;
  uint64_t next_sequence_ AG_GUARDED_BY(mutex_) = 1;
  uint64_t acknowledged_below_ AG_GUARDED_BY(mutex_) = 0;      // the last that was sent
  std::map<uint64_t, Pending> pending_ AG_GUARDED_BY(mutex_);  // by sequence number
  size_t pending_bytes_ AG_GUARDED_BY(mutex_) = 0;
  std::map<RunName, Holding> held_runs_ AG_GUARDED_BY(mutex_);
  bool takes_runs_ AG_GUARDED_BY(mutex_);
  // Also contains requests whose callers have given up.
  wire::SendQueue unsent_ AG_GUARDED_BY(mutex_);
  bool flush_posted_ AG_GUARDED_BY(mutex_) = false;
  bool loop_receives_ AG_GUARDED_BY(mutex_) =
      false;  // a LoopReader was started for this connection

  // Acquired before mutex_. Its holder receives.
  Mutex receiving_;
  std::string buffer_ AG_GUARDED_BY(receiving_);  // bytes just received
  wire::FrameReader reader_ AG_GUARDED_BY(receiving_);
  bool connected_ AG_GUARDED_BY(receiving_) = false;

  std::atomic<uint64_t> connection_{0};  // counts connections; changes with both mutexes held
  std::atomic<MonotonicClock::rep> loop_received_{0};  // time, in ticks of the clock; 0: never
  BackendCounters counters_;
};

}  // namespace agent_graph::state
