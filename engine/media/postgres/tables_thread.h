// TablesThread: the thread on which the calls of FileTables run, so that a database that does not
// answer keeps only these calls waiting.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/status.h"
#include "media/postgres/file_tables.h"
#include "runtime/io_pool.h"

namespace agent_graph::media::postgres {

// Thread-safe.
class TablesThread {
 public:
  // How long a call waits behind others.
  static constexpr std::chrono::seconds kWaitMax{5};
  // The same for a call that continues an upload or a download: it would be cut.
  static constexpr std::chrono::seconds kContinuedWaitMax{60};

  TablesThread(std::string url, std::optional<uint64_t> total_bytes_max);

  // Suspends the calling fiber until `call` has returned. kUnavailable: it was not called, because
  // the calls before it took `wait_max`.
  Status Run(const std::function<void(FileTables&)>& call,
             std::chrono::seconds wait_max = kWaitMax);

 private:
  FileTables tables_;
  runtime::IoPool thread_;
};

}  // namespace agent_graph::media::postgres
