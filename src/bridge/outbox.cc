#include "bridge/outbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <new>
#include <utility>

#include "runtime/runtime.h"

namespace agent_graph::bridge {
namespace {

// Chunks of an exchange are joined into one item up to this size.
constexpr size_t kJoinedChunkBytesMax = 16 * 1024;
// A chunk that grows beyond this size gets capacity for the maximum.
constexpr size_t kShortChunkBytes = 2 * 1024;
constexpr size_t kItemsUnannouncedMax = 64;

}  // namespace

Outbox::Outbox(uint64_t memory_max)
    : doorbell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), memory_(memory_max) {}

Outbox::~Outbox() {
  if (doorbell_ >= 0) close(doorbell_);
}

void Outbox::Push(OutboxItem item) {
  size_t queued;
  {
    MutexLock lock(mutex_);
    queued = items_.size();
    items_.push_back(std::move(item));
  }
  Announce(queued);
}

void Outbox::PushChunk(ExchangeAddress address, std::string_view bytes, OpenChunk& open) {
  size_t queued;
  {
    MutexLock lock(mutex_);
    queued = items_.size();
    if (open.batch_ == batch_) {
      std::string& chunk = std::get<SendChunk>(items_[open.index_].payload).bytes;
      const size_t size = chunk.size() + bytes.size();
      if (size <= kJoinedChunkBytesMax) {
        if (size > chunk.capacity() && size > kShortChunkBytes) chunk.reserve(kJoinedChunkBytesMax);
        chunk.append(bytes);
        return;  // the queue was not empty, so the loop was notified before
      }
    }
    open.batch_ = batch_;
    open.index_ = queued;
    items_.push_back({address, SendChunk{std::string(bytes)}});
  }
  Announce(queued);
}

// Wakes the loop once for all items that the fibers of one turn queue, and earlier if there are
// many.
void Outbox::Announce(size_t queued_before) {
  if (queued_before == 0) {
    try {
      runtime::AtEndOfTurn([this] { RingDoorbell(); });
    } catch (const std::bad_alloc&) {
      RingDoorbell();  // the items are queued: without a bell they would wait for many others
    }
  }
  if (queued_before == kItemsUnannouncedMax) RingDoorbell();
}

void Outbox::Log(LogLevel level, std::string text) {
  bool was_empty;
  {
    MutexLock lock(mutex_);
    was_empty = items_.empty();
    if (log_lines_ == kQueuedLogLinesMax) {
      ++log_lines_dropped_;
      return;
    }
    ++log_lines_;
    items_.push_back({{}, WriteLog{level, std::move(text)}});
  }
  if (was_empty) RingDoorbell();
}

void Outbox::Swap(std::vector<OutboxItem>& items) {
  items.clear();
  MutexLock lock(mutex_);
  items.swap(items_);
  ++batch_;
  log_lines_ = 0;
  if (log_lines_dropped_ > 0) {
    items.push_back({{},
                     WriteLog{LogLevel::kWarn,
                              std::to_string(log_lines_dropped_) + " log lines were dropped"}});
    log_lines_dropped_ = 0;
  }
}

size_t Outbox::queued() const {
  MutexLock lock(mutex_);
  return items_.size();
}

void Outbox::RingDoorbell() const {
  ++doorbells_;
  // Fails only if the counter is at its maximum, and then the loop wakes anyway.
  static_cast<void>(eventfd_write(doorbell_, 1));
}

void Outbox::ClearDoorbell() {
  eventfd_t rings;
  static_cast<void>(eventfd_read(doorbell_, &rings));  // EAGAIN: there was no ring
}

}  // namespace agent_graph::bridge
