// FileTables: the statements on the tables of uploaded files, which a worker's calls share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "media/record.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::media::postgres {

inline constexpr size_t kChunkBytes = size_t{256} * 1024;
inline constexpr size_t kTransactionBytes = size_t{4} * 1024 * 1024;

// Thread-safe; its calls block, one after the other, because they share one connection. No call
// holds the connection longer than one transaction of kTransactionBytes.
class FileTables {
 public:
  FileTables(std::string url, std::optional<uint64_t> total_bytes_max);

  // Returns the bytes from `offset` on, at most `bytes_max`.
  using ReadPiece = std::function<Result<std::string>(uint64_t offset, size_t bytes_max)>;

  // Reads and writes record.size_bytes bytes in chunks, then marks the file as complete. Does not
  // change a file that exists already. RemoveAbandoned deletes the chunks of uploads that failed or
  // were interrupted.
  Status Insert(const FileRecord& record, const std::optional<std::string>& text,
                const ReadPiece& read);
  struct Progress {
    uint64_t bytes = 0;  // inserted
    int32_t chunks = 0;
    bool complete = false;
  };
  // One transaction of Insert.
  Status InsertNext(const FileRecord& record, const std::optional<std::string>& text,
                    const ReadPiece& read, Progress& progress);
  // kNotFound: there is no complete file of this id.
  Result<FileRecord> Find(const std::string& file_id);
  // Returns bytes of chunk `number` from `first` on, at most `length`. kDataLoss: the chunk is
  // shorter.
  Result<std::string> ReadChunk(const std::string& file_id, uint64_t number, uint64_t first,
                                uint64_t length);
  Result<std::string> ReadText(const std::string& file_id);

  // Deletes rows of uploads that began more than a day ago and were not completed; those of a few
  // files. True: there may be more.
  Result<bool> RemoveAbandoned();

 private:
  using Commands = std::vector<state::postgres::Command>;
  using RowSets = std::vector<state::postgres::Rows>;

  // One transaction. Repeated for kReconnectMax if the connection was lost: every statement may run
  // twice.
  Result<RowSets> Run(const Commands& commands) AG_REQUIRES(mutex_);
  Status CheckRoom(uint64_t bytes) AG_REQUIRES(mutex_);

  const std::optional<uint64_t> total_bytes_max_;
  Mutex mutex_;
  state::postgres::Connection connection_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::media::postgres
