#include "media/postgres/storage.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "runtime/runtime.h"

namespace agent_graph::media::postgres {
namespace {

constexpr int64_t kRemovalSeconds = 3600;

Status NoSuchFile() {
  return Status(StatusCode::kNotFound, "file not found");
}

// Reads one chunk at a time, or the part of it that belongs to the range.
class ChunkStream : public ByteStream {
 public:
  ChunkStream(std::shared_ptr<TablesThread> tables, std::string file_id, uint64_t first,
              uint64_t length)
      : tables_(std::move(tables)), file_id_(std::move(file_id)), position_(first), left_(length) {}

  Result<std::string> Read() override {
    if (left_ == 0) return std::string();
    const uint64_t first = position_ % kChunkBytes;
    const uint64_t length = std::min<uint64_t>(left_, kChunkBytes - first);
    Result<std::string> piece = std::string();
    AG_RETURN_IF_ERROR(tables_->Run(
        [&](FileTables& tables) {
          piece = tables.ReadChunk(file_id_, position_ / kChunkBytes, first, length);
        },
        TablesThread::kContinuedWaitMax));
    if (!piece.ok()) return piece;
    position_ += length;
    left_ -= length;
    return piece;
  }

 private:
  const std::shared_ptr<TablesThread> tables_;
  const std::string file_id_;
  uint64_t position_;
  uint64_t left_;
};

}  // namespace

PostgresStorage::PostgresStorage(StorageOptions options, std::unique_ptr<Storage> spool,
                                 runtime::Runtime& runtime)
    : spool_(std::move(spool)),
      runtime_(runtime),
      tables_(std::make_shared<TablesThread>(std::move(options.url), options.total_bytes_max)) {}

PostgresStorage::~PostgresStorage() = default;

Status PostgresStorage::Keep(Spool& spool, FileRecord& record,
                             const std::optional<std::string>& text) {
  runtime_.RunOnIoPool([&] {
    record.size_bytes = spool.size();
    record.sha256 = spool.Sha256();
    record.has_text = text.has_value();
  });
  const auto read = [&](uint64_t offset, size_t bytes_max) {
    return spool.ReadAt(offset, bytes_max);
  };
  // One transaction at a time, so that a large upload leaves time for other calls.
  FileTables::Progress progress;
  while (!progress.complete) {
    Status inserted;
    const bool has_begun = progress.bytes > 0;
    AG_RETURN_IF_ERROR(tables_->Run(
        [&](FileTables& tables) { inserted = tables.InsertNext(record, text, read, progress); },
        has_begun ? TablesThread::kContinuedWaitMax : TablesThread::kWaitMax));
    AG_RETURN_IF_ERROR(inserted);
  }
  RemoveAbandonedUploads();
  return Status::Ok();
}

Result<FileRecord> PostgresStorage::Find(const Reader& reader, const std::string& file_id) {
  if (!IsFileId(file_id)) return NoSuchFile();
  Result<FileRecord> found = NoSuchFile();
  AG_RETURN_IF_ERROR(tables_->Run([&](FileTables& tables) { found = tables.Find(file_id); }));
  if (found.ok() && !MayRead(reader, *found)) return NoSuchFile();
  return found;
}

Result<Content> PostgresStorage::Open(const FileRecord& record, uint64_t first, uint64_t length) {
  Content content;
  content.stream = std::make_unique<ChunkStream>(tables_, record.file_id, first, length);
  return content;
}

Result<std::string> PostgresStorage::ReadText(const FileRecord& record) {
  Result<std::string> text = NoSuchFile();
  AG_RETURN_IF_ERROR(
      tables_->Run([&](FileTables& tables) { text = tables.ReadText(record.file_id); }));
  return text;
}

void PostgresStorage::RemoveAbandonedUploads() {
  const int64_t now = UnixMicros() / kMicrosPerSecond;
  int64_t due = next_removal_seconds_.load();
  if (now < due || !next_removal_seconds_.compare_exchange_strong(due, now + kRemovalSeconds)) {
    return;
  }
  // A failure of the removal does not concern this upload; the next removal tries again.
  bool may_leave_some = false;
  static_cast<void>(tables_->Run([&](FileTables& tables) {
    const Result<bool> removed = tables.RemoveAbandoned();
    may_leave_some = removed.ok() && *removed;
  }));
  // Each upload removes a few, so that none waits long.
  if (may_leave_some) next_removal_seconds_ = now;
}

}  // namespace agent_graph::media::postgres
