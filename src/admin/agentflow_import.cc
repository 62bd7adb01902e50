#include "admin/agentflow_import.h"

#include <memory>
#include <utility>
#include <vector>

#include "admin/agentflow/conversation.h"
#include "admin/database.h"
#include "admin/import_target.h"
#include "admin/thread_writer.h"
#include "state/postgres/database/connection.h"
#include "state/rules/ids.h"

namespace agent_graph::admin {
namespace {

using agentflow::Conversation;

class Import {
 public:
  Import(ImportTarget& target, ThreadWriter& writer,
         const std::function<void(const std::string&)>& problem)
      : target_(target), writer_(writer), problem_(problem) {}

  Status Run(agentflow::Tables& tables) {
    AG_ASSIGN_OR_RETURN(result_.found, tables.Count());
    for (;;) {
      AG_ASSIGN_OR_RETURN(const std::vector<agentflow::StoredThread> stored, tables.Next());
      if (stored.empty()) break;
      AG_RETURN_IF_ERROR(Copy(stored));
    }
    AG_RETURN_IF_ERROR(writer_.Finish());
    const uint64_t seen = result_.threads + result_.earlier + result_.occupied + refused_;
    if (seen >= result_.found.threads) return Status::Ok();
    return {StatusCode::kDataLoss, std::to_string(result_.found.threads) +
                                       " threads were counted, but only " + std::to_string(seen) +
                                       " were read"};
  }

  const ImportedThreads& result() const { return result_; }

 private:
  void Report(const std::string& line) {
    ++result_.problems;
    problem_(line);
  }

  bool HasValidIds(const agentflow::StoredThread& thread) {
    Status valid = state::CheckId(thread.id, "its id");
    if (valid.ok()) valid = state::CheckUser(thread.user);
    if (valid.ok()) return true;
    ++refused_;
    Report("thread " + thread.id + ": " + valid.message() + " (left out)");
    return false;
  }

  Status Copy(const std::vector<agentflow::StoredThread>& stored) {
    std::vector<Conversation> threads;
    for (const agentflow::StoredThread& thread : stored) {
      if (HasValidIds(thread)) threads.push_back(Convert(thread));
    }
    AG_RETURN_IF_ERROR(target_.CheckAlive());
    AG_ASSIGN_OR_RETURN(const std::vector<WrittenThread> written, writer_.Write(threads));
    for (size_t i = 0; i < threads.size(); ++i) Count(threads[i], written[i]);
    return Status::Ok();
  }

  void Count(const Conversation& thread, WrittenThread written) {
    switch (written) {
      case WrittenThread::kEarlier:
        ++result_.earlier;
        return;
      case WrittenThread::kOccupied:
        ++result_.occupied;
        Report("thread " + thread.record.thread_id +
               ": exists, and does not come from an import (left as it is)");
        return;
      case WrittenThread::kNew:
        break;
    }
    ++result_.threads;
    result_.states += thread.has_state ? 1 : 0;
    result_.messages += thread.messages.size();
    result_.file_references += thread.file_references;
    for (const std::string& line : thread.problems) Report(line);
  }

  ImportTarget& target_;
  ThreadWriter& writer_;
  const std::function<void(const std::string&)>& problem_;
  ImportedThreads result_;
  uint64_t refused_ = 0;
};

}  // namespace

Result<ImportedThreads> ImportAgentFlow(const std::string& url, const std::string& target,
                                        const std::function<void(const std::string&)>& problem) {
  state::postgres::Connection source(MaintenanceOptions(url));
  agentflow::Tables tables(source);
  AG_RETURN_IF_ERROR(tables.Open());
  AG_ASSIGN_OR_RETURN(ImportTarget opened, ImportTarget::Open(target));
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<ThreadWriter> writer,
                      ThreadWriter::Open(opened.database()));
  Import import(opened, *writer, problem);
  AG_RETURN_IF_ERROR(import.Run(tables));
  return import.result();
}

}  // namespace agent_graph::admin
