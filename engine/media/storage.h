// Where uploaded files are kept.
//
// A file is its bytes, its record and, for some documents, the text in it. All three are written
// once and then only read. The record is written last: a file without one does not exist.
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

// A part of a file: a place in an open file, or a stream of just that part.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // The next piece, empty at the end. Suspends the calling fiber.
  virtual Result<std::string> Read() = 0;
};
struct Content {
  FileDescriptor file;
  std::unique_ptr<ByteStream> stream;  // null: read `file`
};

// Where a client can read a file without asking this service.
struct DirectUrl {
  std::string url;
  int64_t expires = 0;  // Unix seconds
};

// Thread-safe. Calls suspend the calling fiber. kNotFound: no such file, or none that the reader
// may know of; kResourceExhausted: there is no room; kUnavailable: the storage does not work.
class Storage {
 public:
  virtual ~Storage() = default;

  // Room for a file that is being received. Its own calls belong on the io pool.
  virtual Result<Spool> Receive() = 0;
  // Durable when it returns Ok. The record's `sha256` and `size_bytes` are set here.
  virtual Status Keep(Spool& spool, FileRecord& record, const std::optional<std::string>& text) = 0;

  virtual Result<FileRecord> Find(const Reader& reader, const std::string& file_id) = 0;
  // `length` bytes from `first` on.
  virtual Result<Content> Open(const FileRecord& record, uint64_t first, uint64_t length) = 0;
  // The text that was extracted.
  virtual Result<std::string> ReadText(const FileRecord& record) = 0;
  // Nothing for files that only this service has.
  virtual std::optional<DirectUrl> UrlOf(const FileRecord& record) = 0;
};

// All bytes of a file, at most `bytes_max`. Suspends the calling fiber.
Result<std::string> ReadFile(Storage& storage, runtime::Runtime& runtime, const Reader& reader,
                             const std::string& file_id, uint64_t bytes_max);

}  // namespace agent_graph::media
