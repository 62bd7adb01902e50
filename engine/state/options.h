// StateOptions: everything that configures the state, for workers and for the state server.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "state/database_status.h"
#include "state/run_watch.h"
#include "state/runs.h"

namespace agent_graph::state {

// When an acknowledged write must be on the disk, and not only in the kernel.
enum class SyncLevel : uint8_t {
  kRun,     // ends of runs, direct writes, and appends that request it
  kAlways,  // every write
  kNone,    // never: survives the end of the process, but not a crash of the machine
};

enum class LogLevel : uint8_t { kNotice, kError, kAlert };

struct StateOptions {
  static constexpr uid_t kNobodyElse = static_cast<uid_t>(-1);

  std::string type = "leveldb";  // a name in the factory's table; also what TypeName returns
  // For type "postgres": the connection URI, which may contain a password; never logged.
  std::string database_url = {};
  // Path of the state directory: mode 0700, owned by our user.
  std::string directory;
  // also accepted as the directory's owner when this process is root
  uid_t root_serves = kNobodyElse;

  // --- clients ---

  std::chrono::milliseconds operation_timeout{10'000};
  std::chrono::milliseconds server_wait{3'000};  // without a state server
  // Called on the backend's thread, once per outage, after `server_wait`. A worker then starts a
  // fallback candidate (generation 0). May be empty.
  std::function<void()> on_server_missing;
  // Called on the backend's thread or an engine thread when any client has deleted a thread.
  // Deletions that happen while the connection is down are not reported. May be empty.
  std::function<void(const std::string& thread_id)> on_thread_deleted;

  // Called, on the same threads, when this client was granted an accepted run. Must not block.
  // Empty: this client receives no such runs.
  std::function<void(GrantedRun)> on_run_granted;
  // Called, on the same threads, when a granted run that has not begun was asked to stop. Must not
  // block. May be empty.
  std::function<void(const std::string& thread_id, const std::string& run_id)> on_run_cancelled;
  // Called, on the same threads, when other clients watch an accepted run that this client
  // executes; see run_watch.h. Must not block. May be empty.
  std::function<void(const RunWatched&)> on_run_watched;

  // --- the process that holds the stored data ---

  SyncLevel sync = SyncLevel::kRun;
  // Threads that were idle for this long are deleted; zero: never.
  std::chrono::seconds thread_ttl{0};
  // A thread's log keeps its latest 32 runs, and those that have ended within `log_kept`, the time
  // of an Idempotency-Key: up to 1000 runs and `log_bytes_max` bytes.
  std::chrono::seconds log_kept{24 * 3600};
  uint64_t log_bytes_max = uint64_t{64} * 1024 * 1024;
  // Names of metadata by which threads can be searched; see PageRequest.
  std::vector<std::string> indexed_metadata = {};
  // Memory limit, in bytes, of the search index for memories; see MemoryIndex.
  size_t memory_index_bytes_max = size_t{1} << 30;
  // A server hands over to a candidate of a higher generation. kNewest uses the start time, so that
  // a reloaded nginx wins; a worker's fallback candidate has 0.
  static constexpr uint64_t kNewest = ~uint64_t{0};
  uint64_t generation = kNewest;
  // Create the directory and the stored data if they are missing. A fallback candidate must not:
  // missing files mean that data was lost.
  bool creates = true;
  // Called from the server's threads; may be empty.
  std::function<void(LogLevel, const std::string&)> log;
  // For type "postgres": kept up to date by the server. Never null.
  std::shared_ptr<DatabaseStatus> database_status = std::make_shared<DatabaseStatus>();
};

}  // namespace agent_graph::state
