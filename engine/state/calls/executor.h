// state::Executor executes packed operations for many clients at once: the side of a backend that
// the gateway talks to. A backend implements Storage, which opens its Executor.
//
// A client is one process's connection to the state, through the gateway or directly. It numbers
// its requests. The reply to a mutating operation (IsAnswerStored) is stored in the same commit as
// the operation's effect and kept until acknowledged-below in a later request shows that the client
// has received it. So a request that is resent to the next executor is answered and not executed
// twice.
// Acknowledged-below is the oldest operation that may be resent and whose reply is kept
// (IsAnswerKept); a BeginRun that waits for an hour, or a read, does not hold it back.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "base/status.h"
#include "state/calls/operations.h"
#include "state/pack/fields.h"
#include "state/run_watch.h"
#include "state/runs.h"

namespace agent_graph::state {

struct RequestHeader {
  uint64_t sequence = 0;
  uint64_t acknowledged_below = 0;
  Operation operation = Operation::kGetThread;
  // the client's clock; stored in rows, so that a repeated execution gives the same result
  int64_t micros = 0;
};

// A run that a client holds, or that it requests with a BeginRun that it sends again.
struct HeldRun {
  std::string thread_id;
  std::string run_id;
  uint64_t lease_epoch = 0;  // 0: not known
};
template <pack::SameAs<HeldRun> T>
auto Fields(T& s) {
  return std::tie(s.thread_id, s.run_id, s.lease_epoch);
}

// A client connects, or reconnects after its connection or the executor has ended.
struct ClientHello {
  std::string client;
  int64_t process = 0;
  uint64_t process_start = 0;  // 0: unknown
  std::vector<HeldRun> held = {};
  // Set by clients of older builds, which name their runs without the threads.
  std::optional<std::vector<std::string>> run_ids = {};
  bool answers_pings = false;  // older clients ignore pings
  bool takes_runs = false;     // executes accepted runs that are granted to it

  bool Holds(const std::string& thread_id, const std::string& run_id, uint64_t lease_epoch) const;
};

// Messages from the executor to a client.
struct Welcome {
  uint64_t epoch = 0;  // epoch of the executor
};
struct Reply {
  uint64_t sequence = 0;
  Status status;
  std::string body;  // packed
};
// A BeginRun waits for its busy thread.
struct Queued {
  uint64_t sequence = 0;
};
template <pack::SameAs<Queued> T>
auto Fields(T& s) {
  return std::tie(s.sequence);
}
// End this run of the client at once.
struct CancelRun {
  std::string thread_id;
  std::string run_id;
};
template <pack::SameAs<CancelRun> T>
auto Fields(T& s) {
  return std::tie(s.thread_id, s.run_id);
}
// Drop everything cached for this thread.
struct ThreadDeleted {
  std::string thread_id;
};
template <pack::SameAs<ThreadDeleted> T>
auto Fields(T& s) {
  return std::tie(s.thread_id);
}
// Asks a client that holds leases whether its process still runs; see Executor::OnPong.
struct Ping {};
using ClientMessage =
    std::variant<Welcome, Reply, Queued, CancelRun, ThreadDeleted, Ping, GrantedRun, RunWatched>;

// A connected client, as the executor sees it. Thread-safe; no call blocks.
class ClientConnection {
 public:
  virtual ~ClientConnection() = default;
  // Unique among the connections of one executor, and not 0.
  virtual uint64_t id() const = 0;
  // Delivers the messages in this order, together. Does nothing once the connection is closed.
  virtual void SendAll(std::vector<ClientMessage> messages) = 0;
  void Send(ClientMessage message);
  // A request of this many bytes no longer occupies the executor's queues.
  virtual void Executed(size_t bytes) = 0;
};

struct Request {
  std::shared_ptr<ClientConnection> connection;
  std::string client;
  RequestHeader header;
  std::string bytes;
  size_t body_start = 0;  // where the packed body begins in `bytes`

  pack::Unpacker body() const { return pack::Unpacker(std::string_view(bytes).substr(body_start)); }
};

// Thread-safe. Start, Stop, StopForGood and Tend may block; the other functions are called on the
// thread that reads from clients and return at once.
class Executor {
 public:
  virtual ~Executor() = default;

  // Higher than the epoch of every earlier executor of the same state.
  virtual uint64_t epoch() const = 0;
  virtual Status Start() = 0;
  // Finishes the current commit and interrupts long reads. Open requests get no answer:
  // clients resend them to the next executor.
  virtual void Stop() = 0;
  // Call instead of Stop if no process of this machine continues to serve: other machines that
  // share the data may then take over its runs at once.
  virtual void StopForGood() { Stop(); }

  // The executor answers with Welcome and releases the client's leases of runs that it no longer
  // holds. From then on requests from an earlier connection of the client are refused.
  virtual void Connect(std::shared_ptr<ClientConnection> connection, ClientHello hello) = 0;
  // The connection has closed; the client may reconnect.
  virtual void Disconnect(std::shared_ptr<ClientConnection> connection, std::string client) = 0;
  // The client disconnects for good: its runs end and its replies are dropped.
  virtual void Leave(std::shared_ptr<ClientConnection> connection, std::string client) = 0;
  // The client takes no further accepted runs, because its process will end.
  virtual void RefuseGrants(std::shared_ptr<ClientConnection> connection, std::string client) = 0;
  // The client has answered a ping.
  virtual void OnPong(std::shared_ptr<ClientConnection> connection, std::string client) = 0;
  virtual void Execute(Request request) = 0;

  // Call about once a second, and at once after OpenOptions::on_failed. kReopen: writes had failed
  // and would succeed in a new executor. Fails if the stored data is gone.
  enum class Condition { kServing, kReopen };
  virtual Result<Condition> Tend() = 0;
};

// The reply to a mutating request that the stored data cannot take.
Reply RefusedWrite(uint64_t sequence);

// The log line about stored data that cannot be opened, or (`use` " for writing") written.
std::string NotAvailable(const std::string& directory, const char* use, const Status& status);

// A backend's stored data. Outlives the executors that it opens, one at a time. Not thread-safe.
class Storage {
 public:
  virtual ~Storage() = default;

  struct OpenOptions {
    // Pauses before another attempt to open the data; returns false to give up.
    std::function<bool(std::chrono::milliseconds)> wait;
    // A write has failed: call Tend. Called on the executor's threads; must not block.
    std::function<void()> on_failed;
  };
  // Opens the data. kDataLoss: data that was written is missing or damaged.
  virtual Result<std::unique_ptr<Executor>> Open(OpenOptions options) = 0;
};

}  // namespace agent_graph::state
