#include "media/storage.h"

#include "runtime/runtime.h"

namespace agent_graph::media {

Result<std::string> ReadFile(Storage& storage, runtime::Runtime& runtime, const Reader& reader,
                             const std::string& file_id, uint64_t bytes_max) {
  AG_ASSIGN_OR_RETURN(FileRecord record, storage.Find(reader, file_id));
  if (record.size_bytes > bytes_max) {
    return Status(StatusCode::kResourceExhausted, "the file is too large");
  }
  AG_ASSIGN_OR_RETURN(Content content, storage.Open(record, 0, record.size_bytes));
  Result<std::string> bytes = std::string();
  if (content.stream == nullptr) {
    runtime.RunOnIoPool([&] { bytes = ReadExactly(content.file.get(), 0, record.size_bytes); });
    return bytes;
  }
  for (;;) {
    AG_ASSIGN_OR_RETURN(std::string piece, content.stream->Read());
    if (piece.empty()) return bytes;
    *bytes += piece;
  }
}

}  // namespace agent_graph::media
