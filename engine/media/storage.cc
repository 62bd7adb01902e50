#include "media/storage.h"

#include <unistd.h>

#include <cerrno>

#include "runtime/runtime.h"

namespace agent_graph::media {
namespace {

Result<std::string> ReadWhole(int file, uint64_t length) {
  std::string bytes(length, '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError("read");
    if (got == 0) return Status(StatusCode::kDataLoss, "a file is shorter than its record says");
    done += static_cast<size_t>(got);
  }
  return bytes;
}

}  // namespace

Result<std::string> ReadFile(Storage& storage, runtime::Runtime& runtime, const Reader& reader,
                             const std::string& file_id, uint64_t bytes_max) {
  AG_ASSIGN_OR_RETURN(FileRecord record, storage.Find(reader, file_id));
  if (record.size_bytes > bytes_max) {
    return Status(StatusCode::kResourceExhausted, "the file is too large");
  }
  AG_ASSIGN_OR_RETURN(Content content, storage.Open(record, 0, record.size_bytes));
  Result<std::string> bytes = std::string();
  if (content.stream == nullptr) {
    runtime.RunOnIoPool([&] { bytes = ReadWhole(content.file.get(), record.size_bytes); });
    return bytes;
  }
  for (;;) {
    AG_ASSIGN_OR_RETURN(std::string piece, content.stream->Read());
    if (piece.empty()) return bytes;
    *bytes += piece;
  }
}

}  // namespace agent_graph::media
