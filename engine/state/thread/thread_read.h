// Reads of one conversation thread; message_read.h reads its messages.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "base/status.h"
#include "state/requests.h"
#include "state/rows/database.h"
#include "state/rows/rows.h"
#include "state/types.h"

namespace agent_graph::state {

template <typename Row>
Result<std::optional<Row>> ReadRow(const DatabaseSnapshot& snapshot, const std::string& key) {
  AG_ASSIGN_OR_RETURN(std::optional<std::string> bytes, snapshot.Get(key));
  if (!bytes) return std::optional<Row>();
  Row row;
  if (!pack::FromBytes(*bytes, row)) {
    return Status(StatusCode::kDataLoss, "stored state cannot be read back");
  }
  return std::optional<Row>(std::move(row));
}

// The error for a run whose thread was deleted or is leased to another run.
Status Fenced();

// Returns kNotFound if the scope has no such thread.
Result<ThreadRow> ReadThread(const DatabaseSnapshot& snapshot, const Scope& scope,
                             const std::string& thread_id);
Result<ThreadState> ReadState(const DatabaseSnapshot& snapshot, const std::string& thread_id,
                              const ThreadRow& thread);
// The part of a thread's window that is read for a run that begins.
struct BegunWindow {
  uint64_t log_index = 0;  // of the log, not of the window
  uint64_t version = 0;
  bool is_partial = false;          // the client has the messages before `items`
  std::vector<uint64_t> sequences;  // of the whole window; only if `is_partial`
  uint64_t known_through = 0;       // BeginRunReply::known_through
  std::vector<uint64_t> items;      // of the messages to be read
};
// Leaves out the messages that `known` names if the client still has them as they are stored.
Result<BegunWindow> ReadBegunWindow(const DatabaseSnapshot& snapshot, const ThreadRow& thread,
                                    const std::optional<KnownWindow>& known);
inline constexpr size_t kAnyBytes = std::numeric_limits<size_t>::max();
// Fills in the state of a reply, the version of the window, and the index of the log.
// kResourceExhausted: the messages have more than `bytes_max` bytes; most of them were not read.
Status ReadBegunState(const DatabaseSnapshot& snapshot, const std::string& thread_id,
                      const ThreadRow& thread, BegunWindow window, size_t bytes_max,
                      BeginRunReply& reply);
Result<std::vector<LogEntry>> ReadLogEntries(const DatabaseSnapshot& snapshot,
                                             const keys::ThreadKey& thread, uint64_t first,
                                             uint64_t limit);

}  // namespace agent_graph::state
