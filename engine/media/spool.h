// Spool: an upload in progress. The bytes go to a temporary file and are counted and hashed on the
// way. If Keep is not called, the file is removed with the object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/status.h"

namespace agent_graph::media {

// Not thread-safe. Its calls block: use it on the io pool.
class Spool {
 public:
  static constexpr uint64_t kAdmittedAtOnce = 1024 * 1024;

  // Returns Ok if this many more bytes may be written. Because the check is slow, it is asked for
  // kAdmittedAtOnce bytes at a time, or only for the next write if those do not fit. So each
  // concurrent upload may exceed the limit by that amount.
  using Admit = std::function<Status(uint64_t bytes)>;

  // Creates the temporary file in `folder`, which must outlive the spool and be on the file system
  // of the final place.
  static Result<Spool> Create(int folder, Admit admit = nullptr);
  ~Spool();
  Spool(Spool&&) noexcept;
  Spool& operator=(Spool&&) = delete;

  Status Write(std::string_view bytes);
  uint64_t size() const { return size_; }
  std::string_view first_bytes() const { return first_bytes_; }  // at most kSniffedBytes
  std::string Sha256();                                          // hex; do not write after it
  int file() const { return file_.get(); }
  // Reads up to `bytes_max` of the written bytes from `offset` on.
  Result<std::string> ReadAt(uint64_t offset, size_t bytes_max) const;

  // Makes the file durable and renames it to `name` in the folder `target`.
  Status Keep(int target, const std::string& name);

 private:
  struct Hash;
  Status AdmitThrough(uint64_t end);
  Spool(int folder, std::string name, FileDescriptor file, std::unique_ptr<Hash> hash, Admit admit);

  int folder_;
  std::string name_;  // empty: Keep has succeeded
  FileDescriptor file_;
  std::unique_ptr<Hash> hash_;
  Admit admit_;
  uint64_t admitted_ = 0;
  uint64_t size_ = 0;
  std::string first_bytes_;
};

// Writes all bytes; kResourceExhausted if the disk is full.
Status WriteAll(int file, std::string_view bytes);
// Reads `bytes` bytes from `offset` on; kDataLoss if there are fewer.
Result<std::string> ReadExactly(int file, uint64_t offset, size_t bytes);
Status FileError(const char* what);  // describes errno

}  // namespace agent_graph::media
