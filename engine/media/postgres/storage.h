// PostgresStorage: files in the database that the hosts of a service share.
//
// A file is a row with its record and its text, and rows with chunks of its bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "media/postgres/tables_thread.h"
#include "media/storage.h"

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::media::postgres {

struct StorageOptions {
  std::string url;  // the database with its password; never logged
  std::optional<uint64_t> total_bytes_max = {};
};

// Thread-safe; calls suspend the calling fiber. Each object has one connection, which it opens for
// the first call, and one thread that uses it.
class PostgresStorage : public Storage {
 public:
  // `spool` only holds uploads in progress.
  PostgresStorage(StorageOptions options, std::unique_ptr<Storage> spool,
                  runtime::Runtime& runtime);
  ~PostgresStorage() override;

  Result<Spool> Receive() override { return spool_->Receive(); }
  Status Keep(Spool& spool, FileRecord& record, const std::optional<std::string>& text) override;
  Result<FileRecord> Find(const Reader& reader, const std::string& file_id) override;
  Result<Content> Open(const FileRecord& record, uint64_t first, uint64_t length) override;
  Result<std::string> ReadText(const FileRecord& record) override;
  std::optional<DirectUrl> UrlOf(const FileRecord&) override { return std::nullopt; }

 private:
  // At most once an hour.
  void RemoveAbandonedUploads();

  const std::unique_ptr<Storage> spool_;
  runtime::Runtime& runtime_;
  const std::shared_ptr<TablesThread> tables_;  // shared with streams
  std::atomic<int64_t> next_removal_seconds_{0};
};

}  // namespace agent_graph::media::postgres
