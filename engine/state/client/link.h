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
#include "state/client_counters.h"
#include "state/owner/directory.h"
#include "state/wire/protocol.h"

namespace agent_graph::state {

struct LinkOptions {
  std::string directory;
  uid_t root_serves = StateDirectory::kNobodyElse;
  // Maximum time that an operation waits for a connected server.
  std::chrono::milliseconds operation_timeout{10'000};
  std::chrono::milliseconds owner_wait{3'000};
  std::function<void()> on_owner_missing;
  std::function<void(const std::string&)> on_thread_deleted;
};

// Thread-safe. Call blocks the calling thread or suspends its fiber; the other functions do not
// wait for the server.
class Link : public std::enable_shared_from_this<Link> {
 public:
  // Limit on unanswered requests, in bytes; above it calls fail with kResourceExhausted.
  static constexpr size_t kPendingBytesMax = 256 * 1024 * 1024;

  explicit Link(LinkOptions options);
  ~Link();

  Status Start();
  void Stop();

  // Sends a request made by wire::MakeRequest, waits for the reply and returns its packed body.
  // Fails with kUnavailable after operation_timeout. A request that the server has queued by then
  // may take `queued_wait` longer. `taken` may be null; it is set to false if the call failed
  // before any server could have received the request, otherwise to true.
  Result<std::string> Call(std::string frame, const runtime::Cancellation* cancellation,
                           std::chrono::milliseconds queued_wait = {}, bool* taken = nullptr);

  // Registers a run that this client holds or requests. A new server receives the list in Hello and
  // releases all other runs of the client. `cancellation` may be null; it is cancelled when the
  // server sends CancelRun. Returns kConflict if the client already holds a run with that id on
  // that thread, kUnavailable if it is still releasing one.
  Status Hold(const std::string& thread_id, const std::string& run_id,
              const runtime::Cancellation* cancellation);
  void Unhold(const std::string& thread_id, const std::string& run_id);
  // Releases a run without waiting for the reply; it is sent as soon as a server is connected. If
  // too many operations are waiting it is not sent: the next server frees every run that Hello does
  // not list.
  void Release(const std::string& thread_id, const std::string& run_id);

  void DropConnection();

  const ClientCounters& counters() const { return counters_; }

 private:
  struct Reply {
    Status status;
    std::string body;
  };
  struct HeldRun {
    std::string thread_id;
    std::string run_id;

    friend auto operator<=>(const HeldRun&, const HeldRun&) = default;
  };
  struct Holding {
    std::optional<runtime::Cancellation> cancellation;
    bool released = false;  // a Release is in flight
  };
  struct Pending {
    std::string frame;
    runtime::Promise<Reply> answer;
    std::optional<HeldRun> released;  // set for a Release, which never fails
    MonotonicClock::time_point started;
    bool answer_kept = false;  // the server keeps the reply until it is acknowledged
    bool queued = false;       // the server has queued it and replies when its thread is free
  };

  void Run();
  // Serves one connection until it ends. Returns false if the server never sent Welcome.
  bool Serve(FileDescriptor socket);
  bool Receive(int socket, wire::FrameReader& reader);
  bool OnFrame(std::string_view payload);
  bool OnWelcome(pack::Unpacker& unpacker);
  bool OnCancelRun(pack::Unpacker& unpacker);
  bool OnThreadDeleted(pack::Unpacker& unpacker);
  void OnReply(pack::Unpacker& unpacker, std::string_view payload);
  void OnQueued(pack::Unpacker& unpacker);
  bool IsQueued(uint64_t sequence);
  void FailOverdue();
  void WaitForWake(std::chrono::milliseconds duration);
  void Wake();

  void Forget(const HeldRun& run) AG_REQUIRES(mutex_);
  void GiveUpOnOwner() AG_REQUIRES(mutex_);
  std::string MakeHello() const AG_REQUIRES(mutex_);
  uint64_t Number(std::string& frame) AG_REQUIRES(mutex_);
  uint64_t AcknowledgedBelow() AG_REQUIRES(mutex_);
  // Sends at once, or, on an engine thread, when the fibers that can run have run: what they ask
  // goes out together.
  void Write(std::string_view frame) AG_REQUIRES(mutex_);
  void Flush() AG_REQUIRES(mutex_);
  void FlushNow() AG_REQUIRES(mutex_);

  const LinkOptions options_;
  const std::string id_;
  FileDescriptor wake_;
  std::thread thread_;
  std::atomic<bool> stopping_{false};

  Mutex mutex_;
  FileDescriptor socket_ AG_GUARDED_BY(mutex_);
  bool ready_ AG_GUARDED_BY(mutex_) = false;     // the owner said Welcome on this connection
  bool welcomed_ AG_GUARDED_BY(mutex_) = false;  // the same, still known after it ended
  // No owner, or a silent one, for operation_timeout: calls fail at once.
  bool outage_ AG_GUARDED_BY(mutex_) = false;
  MonotonicClock::time_point heard_ AG_GUARDED_BY(mutex_);  // when the owner last said anything
  uint64_t epoch_ AG_GUARDED_BY(mutex_) = 0;
  uint64_t next_sequence_ AG_GUARDED_BY(mutex_) = 1;
  uint64_t acknowledged_below_ AG_GUARDED_BY(mutex_) = 0;      // the last that was said
  std::map<uint64_t, Pending> pending_ AG_GUARDED_BY(mutex_);  // by sequence number
  size_t pending_bytes_ AG_GUARDED_BY(mutex_) = 0;
  std::map<HeldRun, Holding> held_runs_ AG_GUARDED_BY(mutex_);
  std::string unsent_ AG_GUARDED_BY(mutex_);
  size_t unsent_start_ AG_GUARDED_BY(mutex_) = 0;
  bool flush_posted_ AG_GUARDED_BY(mutex_) = false;
  std::string buffer_;  // bytes just received; the link's thread only
  ClientCounters counters_;
};

}  // namespace agent_graph::state
