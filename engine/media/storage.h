// Storage: the interface of the backends for uploaded files (local directory, memory, S3).
//
// A file consists of its bytes, its record and, for some documents, the extracted text. All three
// are written once and then only read. The record is written last: a file without a record does not
// exist.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "media/record.h"
#include "media/spool.h"

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::media {

// A range of a file that is read as a stream.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // The next piece; empty at the end. Suspends the calling fiber.
  virtual Result<std::string> Read() = 0;
};
// A range of a file: either a place in an open file, or a stream of exactly that range.
struct Content {
  FileDescriptor file;
  std::unique_ptr<ByteStream> stream;  // null: read `file`
};

// A presigned URL: a client can read the file from it without this service.
struct DirectUrl {
  std::string url;
  int64_t expires = 0;  // Unix seconds
};

// Thread-safe; call from a fiber: every call may suspend it. Errors: kNotFound (missing, or not
// visible to `reader`), kResourceExhausted (storage full), kUnavailable (backend unreachable or
// failing).
class Storage {
 public:
  virtual ~Storage() = default;

  // Creates a spool for an upload in progress. Use the spool on the io pool only: its calls block.
  virtual Result<Spool> Receive() = 0;
  // Stores the upload; durable when Ok is returned. Sets record.sha256 and record.size_bytes.
  virtual Status Keep(Spool& spool, FileRecord& record, const std::optional<std::string>& text) = 0;

  // The record of a file.
  virtual Result<FileRecord> Find(const Reader& reader, const std::string& file_id) = 0;
  // Opens `length` bytes from `first` on. kDataLoss: fewer are stored than the record says.
  virtual Result<Content> Open(const FileRecord& record, uint64_t first, uint64_t length) = 0;
  // The text extracted from the file.
  virtual Result<std::string> ReadText(const FileRecord& record) = 0;
  // Creates a presigned URL; nullopt if the backend has none.
  virtual std::optional<DirectUrl> UrlOf(const FileRecord& record) = 0;
};

// Reads a whole file of at most `bytes_max` bytes. Suspends the calling fiber.
Result<std::string> ReadFile(Storage& storage, runtime::Runtime& runtime, const Reader& reader,
                             const std::string& file_id, uint64_t bytes_max);

}  // namespace agent_graph::media
