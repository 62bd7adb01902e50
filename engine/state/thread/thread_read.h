// Reads of one conversation thread.
#pragma once

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
// Fills in the state of a reply, the version of the window, and the index of the log. Leaves out
// the messages that `known` names if the client still has them as they are stored.
Status ReadBegunState(const DatabaseSnapshot& snapshot, const std::string& thread_id,
                      const ThreadRow& thread, const std::optional<KnownWindow>& known,
                      BeginRunReply& reply);
Result<StoredMessage> ReadMessage(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                                  const std::string& message_id);
Result<MessagePage> ReadMessages(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                                 const PageRequest& page);
// Returns the number of messages to skip before the page: its offset, or the rest in its cursor.
uint64_t MessagesToSkip(const PageRequest& page);
Result<std::vector<LogEntry>> ReadLogEntries(const DatabaseSnapshot& snapshot,
                                             const keys::ThreadKey& thread, uint64_t first,
                                             uint64_t limit);
Result<RunTraces> ReadRunTraces(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                                const ReadRunsRequest& read);

}  // namespace agent_graph::state
