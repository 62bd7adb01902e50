#include "media/spool.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/hex.h"
#include "base/ids.h"
#include "media/mime.h"

namespace agent_graph::media {

struct Spool::Hash {
  Hash() : context(EVP_MD_CTX_new(), EVP_MD_CTX_free) {}
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context;
};

Status FileError(const char* what) {
  const int error = errno;
  const bool full = error == ENOSPC || error == EDQUOT;
  return Status(full ? StatusCode::kResourceExhausted : StatusCode::kUnavailable,
                full ? "the file storage is full" : "the file storage failed")
      .WithDetail(std::string(what) + ": " + std::generic_category().message(error));
}

Status WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("write");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return Status::Ok();
}

Result<std::string> ReadExactly(int file, uint64_t offset, size_t bytes) {
  std::string text(bytes, '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got =
        pread(file, text.data() + done, text.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError("read");
    if (got == 0) return Status(StatusCode::kDataLoss, "a file is shorter than it was");
    done += static_cast<size_t>(got);
  }
  return text;
}

Result<Spool> Spool::Create(int folder, Admit admit) {
  std::string name = NewHexId() + ".part";
  FileDescriptor file(
      openat(folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return FileError("creating a temporary file");
  auto hash = std::make_unique<Hash>();
  Spool spool(folder, std::move(name), std::move(file), std::move(hash), std::move(admit));
  if (spool.hash_->context == nullptr ||
      EVP_DigestInit_ex(spool.hash_->context.get(), EVP_sha256(), nullptr) != 1) {
    return Status(StatusCode::kInternal, "no SHA-256");
  }
  return spool;
}

Spool::Spool(int folder, std::string name, FileDescriptor file, std::unique_ptr<Hash> hash,
             Admit admit)
    : folder_(folder),
      name_(std::move(name)),
      file_(std::move(file)),
      hash_(std::move(hash)),
      admit_(std::move(admit)) {}

Spool::Spool(Spool&& other) noexcept
    : folder_(other.folder_),
      name_(std::exchange(other.name_, {})),
      file_(std::move(other.file_)),
      hash_(std::move(other.hash_)),
      admit_(std::move(other.admit_)),
      admitted_(other.admitted_),
      size_(other.size_),
      first_bytes_(std::move(other.first_bytes_)) {}

Spool::~Spool() {
  if (!name_.empty()) unlinkat(folder_, name_.c_str(), 0);
}

Status Spool::AdmitThrough(uint64_t end) {
  if (end <= admitted_) return Status::Ok();
  // The check only sees bytes that are written, so the admitted but unwritten ones are included
  // here.
  uint64_t wanted = std::max(end, size_ + kAdmittedAtOnce);
  Status admitted = admit_(wanted - size_);
  if (admitted.code() == StatusCode::kResourceExhausted && wanted > end) {
    wanted = end;
    admitted = admit_(wanted - size_);
  }
  if (admitted.ok()) admitted_ = wanted;
  return admitted;
}

Status Spool::Write(std::string_view bytes) {
  if (admit_ != nullptr) AG_RETURN_IF_ERROR(AdmitThrough(size_ + bytes.size()));
  if (first_bytes_.size() < kSniffedBytes) {
    first_bytes_ += bytes.substr(0, kSniffedBytes - first_bytes_.size());
  }
  if (EVP_DigestUpdate(hash_->context.get(), bytes.data(), bytes.size()) != 1) {
    return Status(StatusCode::kInternal, "no SHA-256");
  }
  AG_RETURN_IF_ERROR(WriteAll(file_.get(), bytes));
  size_ += bytes.size();
  return Status::Ok();
}

std::string Spool::Sha256() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_DigestFinal_ex(hash_->context.get(), digest, &length);
  return Hex(digest, length);
}

Result<std::string> Spool::ReadAt(uint64_t offset, size_t bytes_max) const {
  return ReadExactly(file_.get(), offset,
                     static_cast<size_t>(std::min<uint64_t>(size_ - offset, bytes_max)));
}

Status Spool::Keep(int target, const std::string& name) {
  if (fsync(file_.get()) != 0) return FileError("fsync");
  if (renameat(folder_, name_.c_str(), target, name.c_str()) != 0) return FileError("rename");
  name_.clear();
  return Status::Ok();
}

}  // namespace agent_graph::media
