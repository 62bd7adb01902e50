#include "media/postgres/tables_thread.h"

#include <utility>

#include "base/clock.h"

namespace agent_graph::media::postgres {

TablesThread::TablesThread(std::string url, std::optional<uint64_t> total_bytes_max)
    : tables_(std::move(url), total_bytes_max), thread_(1, "agent-files", [] {}) {}

Status TablesThread::Run(const std::function<void(FileTables&)>& call,
                         std::chrono::seconds wait_max) {
  const Deadline begin_until = DeadlineAfter(wait_max);
  bool has_begun = false;
  thread_.Run([&] {
    has_begun = MonotonicClock::now() < begin_until;
    if (has_begun) call(tables_);
  });
  if (has_begun) return Status::Ok();
  return Status(StatusCode::kUnavailable, "the database of the files takes too long");
}

}  // namespace agent_graph::media::postgres
