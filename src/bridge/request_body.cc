#include "bridge/request_body.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/free_memory.h"
#include "runtime/runtime.h"

namespace agent_graph::bridge {
namespace {

// The event loop enforces the limit on body size, so the engine asks for the whole body.
constexpr uint64_t kWholeBody = std::numeric_limits<uint64_t>::max();

// Size of a piece of a body that was delivered whole and is read in pieces.
constexpr uint64_t kStoredPieceBytes = 64 * 1024;

// Reads up to `size` bytes at `offset`; negative: failed.
ssize_t ReadAt(const Body& body, uint64_t offset, char* bytes, size_t size) {
  ssize_t got = 0;
  do {
    got = pread(body.file.get(), bytes, size, static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  return got;
}

}  // namespace

RequestBody::~RequestBody() {
  memory_.CountElsewhere(-bytes_elsewhere_);
  memory_.CountBuffered(-bytes_);
}

void RequestBody::Deliver(Body body) {
  {
    MutexLock lock(mutex_);
    if (present_) return;
    present_ = true;
    bytes_ = static_cast<int64_t>(body.size());
    memory_.CountBuffered(bytes_);
    if (body.in_file()) CountElsewhere();
    whole_ = std::move(body);
  }
  signal_.Notify();
}

void RequestBody::Fail(Status status) {
  {
    MutexLock lock(mutex_);
    if (present_) return;
    present_ = true;
    failure_ = std::move(status);
  }
  signal_.Notify();
}

void RequestBody::DeliverPiece(std::string bytes, bool last) {
  {
    MutexLock lock(mutex_);
    if (present_) return;  // failed
    complete_ = complete_ || last;
    if (!bytes.empty()) {
      bytes_ += static_cast<int64_t>(bytes.size());
      memory_.CountBuffered(static_cast<int64_t>(bytes.size()));
      pieces_.push_back(std::move(bytes));
    }
  }
  signal_.Notify();
}

Result<Body> RequestBody::Take(Deadline deadline) {
  bool asked = false;
  for (;;) {
    if (cancellation_.cancelled()) {
      return WakeStatus(runtime::WakeReason::kCancelled, &cancellation_);
    }
    {
      MutexLock lock(mutex_);
      if (taken_) return Status(StatusCode::kInternal, "the request body was taken before");
      if (present_) {
        taken_ = true;
        if (!failure_.ok()) return failure_;
        return std::move(whole_);
      }
    }
    if (!asked) ask_(kWholeBody);
    asked = true;
    const runtime::WakeReason reason = signal_.Wait(&cancellation_, deadline);
    if (reason != runtime::WakeReason::kNotified) return WakeStatus(reason, &cancellation_);
  }
}

Result<std::string> RequestBody::TakePiece(Deadline deadline) {
  ReleasePiece();
  if (!std::exchange(asked_, true)) ask_(kBodyWindowBytes);
  for (;;) {
    if (cancellation_.cancelled()) {
      return WakeStatus(runtime::WakeReason::kCancelled, &cancellation_);
    }
    MutexLock lock(mutex_);
    if (!failure_.ok()) return failure_;
    if (!pieces_.empty()) {
      std::string piece = std::move(pieces_.front());
      pieces_.pop_front();
      lock.Unlock();
      piece_bytes_ = static_cast<int64_t>(piece.size());
      taken_bytes_ += piece.size();
      if (taken_bytes_ >= kBodyWindowBytes / 2) ask_(std::exchange(taken_bytes_, 0));
      return piece;
    }
    if (complete_) return std::string();
    // Once the body is present, the loop never touches it again.
    Body* const stored = present_ ? &whole_ : nullptr;
    lock.Unlock();
    if (stored != nullptr) return TakeStoredPiece(*stored);
    const runtime::WakeReason reason = signal_.Wait(&cancellation_, deadline);
    if (reason != runtime::WakeReason::kNotified) return WakeStatus(reason, &cancellation_);
  }
}

void RequestBody::ReleasePiece() {
  const int64_t bytes = std::exchange(piece_bytes_, 0);
  if (bytes == 0) return;
  {
    MutexLock lock(mutex_);
    bytes_ -= bytes;
  }
  memory_.CountBuffered(-bytes);
}

// Returns the next piece of a body that was delivered whole.
Result<std::string> RequestBody::TakeStoredPiece(Body& body) {
  const uint64_t left = body.size() - std::min(body.size(), taken_bytes_);
  const uint64_t size = std::min(kStoredPieceBytes, left);
  if (!body.in_file()) {
    if (size > 0) {
      return body.bytes.substr(std::exchange(taken_bytes_, taken_bytes_ + size), size);
    }
    FreeMemory(body);
    CountedAsHeld();
    return std::string();
  }
  std::string piece(size, '\0');
  if (piece.empty()) return piece;
  ssize_t got = 0;
  auto read = [&] {
    got = ReadAt(body, taken_bytes_, piece.data(), piece.size());
    if (got > 0 && taken_bytes_ + static_cast<uint64_t>(got) == body.file_length) {
      body.file.Reset();
    }
  };
  if (runtime::Runtime* const runtime = runtime::Runtime::Current()) {
    runtime->RunOnIoPool(read);
  } else {
    read();
  }
  if (got <= 0) return Status(StatusCode::kInternal, "the request body cannot be read back");
  piece.resize(static_cast<size_t>(got));
  taken_bytes_ += piece.size();
  return piece;
}

void RequestBody::CountElsewhere() {
  const int64_t bytes = bytes_ - std::exchange(bytes_elsewhere_, bytes_);
  if (bytes != 0) memory_.CountElsewhere(bytes);
}

void RequestBody::CountedAsHeld() {
  MutexLock lock(mutex_);
  CountElsewhere();
}

}  // namespace agent_graph::bridge
