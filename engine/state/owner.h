// The state server: the one process on a machine that has the database open and serves it.
//
// It is a role, not a process. Candidates wait for the lock on owner.lock in the state directory.
// The one that gets it opens the database, increments the server epoch and serves the socket. It
// hands over when a candidate of a newer generation asks for it, or when Finish is called. If it is
// killed, the kernel releases the lock and the next candidate continues with the same database.
// Clients notice that their connection has closed, connect to the new server and resend unanswered
// operations.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "state/leveldb/store.h"
#include "state/owner/directory.h"

namespace agent_graph::state {

struct OwnerOptions {
  enum class Type : uint8_t { kLevelDb, kMemory };
  enum class LogLevel : uint8_t { kNotice, kAlert };

  std::string directory;  // mode 0700, owned by our user; created if missing
  // also accepted as the directory's owner when this process is root
  uid_t root_serves = StateDirectory::kNobodyElse;
  Type type = Type::kLevelDb;
  SyncLevel sync = SyncLevel::kRun;
  // Threads that were idle for this long are deleted; zero: never.
  std::chrono::seconds thread_ttl{0};
  // Memory limit, in bytes, of the search index for memories; see MemoryIndex.
  size_t memory_index_bytes_max = size_t{1} << 30;
  // A server hands over to a candidate of a higher generation. kNewest uses the start time, so that
  // a reloaded nginx wins; a worker's fallback candidate has 0.
  static constexpr uint64_t kNewest = ~uint64_t{0};
  uint64_t generation = kNewest;
  // Create the directory and the database if they are missing. A fallback candidate must not:
  // missing files mean that data was lost.
  bool creates = true;
  // Called from the server's threads; may be empty.
  std::function<void(LogLevel, const std::string&)> log;
};

// A candidate for the state server's role, and the server while it holds the lock. Thread-safe.
class Owner {
 public:
  // Checks the directory and starts a candidate thread; returns at once.
  static Result<std::unique_ptr<Owner>> Start(OwnerOptions options);
  // Releases the role at once; clients get no notice.
  ~Owner();
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  // Continues to serve until no client is connected or the deadline has passed, then releases the
  // role. A candidate that does not hold the role ends at once.
  void Finish(Deadline deadline);

  // Waits until this candidate holds the role and serves. Returns false at the deadline.
  bool WaitUntilOwning(Deadline deadline);

  struct Implementation;

 private:
  explicit Owner(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace agent_graph::state
