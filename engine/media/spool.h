// A file while it is being received: bytes go to a temporary file and are counted and hashed on the
// way. What is not kept disappears with the object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/status.h"

namespace agent_graph::media {

// One thread at a time. Blocks: for the io pool.
class Spool {
 public:
  static constexpr uint64_t kAdmittedAtOnce = 1024 * 1024;

  // Whether so many bytes more may be written. Asked for kAdmittedAtOnce, because looking takes
  // time, and where they do not fit for what is to be written: files that are received at a time
  // may together go beyond a bound by so much each.
  using Admit = std::function<Status(uint64_t bytes)>;

  // In `folder`, which must outlive it and be on the file system that the file is to stay on.
  static Result<Spool> Create(int folder, Admit admit = nullptr);
  ~Spool();
  Spool(Spool&&) noexcept;
  Spool& operator=(Spool&&) = delete;

  Status Write(std::string_view bytes);
  uint64_t size() const { return size_; }
  std::string_view first_bytes() const { return first_bytes_; }  // kSniffedBytes at most
  std::string Sha256();                                          // hex; nothing is written after it
  int file() const { return file_.get(); }
  // At most `bytes_max` of what was written, from `offset` on.
  Result<std::string> ReadAt(uint64_t offset, size_t bytes_max) const;

  // Makes it durable and gives it the name `name` in `target`.
  Status Keep(int target, const std::string& name);

 private:
  struct Hash;
  Status AdmitThrough(uint64_t end);
  Spool(int folder, std::string name, FileDescriptor file, std::unique_ptr<Hash> hash, Admit admit);

  int folder_;
  std::string name_;  // empty: kept
  FileDescriptor file_;
  std::unique_ptr<Hash> hash_;
  Admit admit_;
  uint64_t admitted_ = 0;
  uint64_t size_ = 0;
  std::string first_bytes_;
};

// Writes all of it; kResourceExhausted when the disk is full.
Status WriteAll(int file, std::string_view bytes);
// `bytes` from `offset` on; kDataLoss when there are fewer.
Result<std::string> ReadExactly(int file, uint64_t offset, size_t bytes);
Status FileError(const char* what);  // of errno

}  // namespace agent_graph::media
