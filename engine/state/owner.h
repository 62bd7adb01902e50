// The state owner: the one process of a machine that has the database open and serves it.
//
// It is a role, not a process. A candidate waits for owner.lock in the state directory; who gets it
// opens the database, raises the owner epoch and serves the socket. It hands over when a candidate
// of a newer generation asks for it, or when it finishes; when it is killed the kernel releases the
// lock and the next candidate takes over where the database stands. Clients notice by their
// connection, come back to the new owner and send again what was not answered.
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

  std::string directory;                            // mode 0700, ours; created when missing
  uid_t root_serves = StateDirectory::kNobodyElse;  // whose it may be when we are root
  Type type = Type::kLevelDb;
  SyncLevel sync = SyncLevel::kRun;
  // Threads that nothing has happened on for so long are deleted; zero: none are.
  std::chrono::seconds thread_ttl{0};
  // Memory that search through memories may take; see MemoryIndex.
  size_t memory_index_bytes_max = size_t{1} << 30;
  // An owner yields to a candidate of a higher generation. kNewest: the time of start, so that a
  // reloaded nginx wins; 0 for a worker that only stands in.
  static constexpr uint64_t kNewest = ~uint64_t{0};
  uint64_t generation = kNewest;
  // Makes the directory and the database when they are missing. A candidate that only stands in must
  // not: what was there has been lost.
  bool creates = true;
  // Called from the owner's threads; may be empty.
  std::function<void(LogLevel, const std::string&)> log;
};

// Thread-safe.
class Owner {
 public:
  // Checks the directory and starts a candidate thread; returns at once.
  static Result<std::unique_ptr<Owner>> Start(OwnerOptions options);
  // Gives the role up at once, without a word to the clients.
  ~Owner();
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  // Goes on serving until no client is connected any more or the deadline passes, then gives the
  // role up. A candidate that is not the owner gives up at once.
  void Finish(Deadline deadline);

  // Waits until this candidate owns the state and serves it. False at the deadline.
  bool WaitUntilOwning(Deadline deadline);

  struct Implementation;

 private:
  explicit Owner(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace agent_graph::state
