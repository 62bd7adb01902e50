// Writes imported threads into a database of the state.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "admin/agentflow/conversation.h"
#include "base/status.h"
#include "state/rows/database.h"
#include "state/rows/transaction.h"

namespace agent_graph::admin {

enum class WrittenThread : uint8_t {
  kNew,
  kEarlier,   // an import has written it before; it was left unchanged
  kOccupied,  // the id belongs to a thread that was not imported
};

// For one thread; calls block.
class ThreadWriter {
 public:
  // `database` must outlive it.
  static Result<std::unique_ptr<ThreadWriter>> Open(state::Database& database);

  // One transaction: all of them are written, or none. Then reads them back: kDataLoss if a thread
  // has another number of messages than it should.
  Result<std::vector<WrittenThread>> Write(const std::vector<agentflow::Conversation>& threads);
  // Call at the end: all of it is on the disk when it returns.
  Status Finish();

 private:
  ThreadWriter(state::Database& database, std::vector<std::string> indexed_metadata)
      : database_(database), transaction_(database, std::move(indexed_metadata)) {}
  Result<WrittenThread> WriteOne(const agentflow::Conversation& thread);
  Status Stage(const agentflow::Conversation& thread);
  Status Check(const std::vector<agentflow::Conversation>& threads,
               const std::vector<WrittenThread>& written) const;

  state::Database& database_;
  state::Transaction transaction_;
};

}  // namespace agent_graph::admin
