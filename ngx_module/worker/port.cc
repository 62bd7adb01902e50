#include "ngx_module/worker/port.h"

#include "base/clock.h"
#include "base/free_memory.h"
#include "ngx_module/callback.h"

namespace agent_graph::nginx {
namespace {

// Limits of one wake-up, after which other connections get their turn.
constexpr size_t kBatchItemsMax = 256;
constexpr std::chrono::microseconds kBatchTimeMax{2000};
constexpr size_t kItemsPerClockRead = 32;
// Capacity for items that is kept between batches.
constexpr size_t kItemsKeptMax = 4096;

ngx_uint_t LogLevelOf(bridge::LogLevel level) {
  switch (level) {
    case bridge::LogLevel::kDebug:
      return NGX_LOG_DEBUG;
    case bridge::LogLevel::kInfo:
      return NGX_LOG_INFO;
    case bridge::LogLevel::kNotice:
      return NGX_LOG_NOTICE;
    case bridge::LogLevel::kWarn:
      return NGX_LOG_WARN;
    case bridge::LogLevel::kError:
      return NGX_LOG_ERR;
    case bridge::LogLevel::kCritical:
      return NGX_LOG_CRIT;
  }
  return NGX_LOG_ERR;
}

}  // namespace

void LogItem(ngx_log_t* log, const bridge::WriteLog& line) {
  Log(log, LogLevelOf(line.level), line.text);
}

bool Port::Open(ngx_cycle_t* cycle) {
  if (!outbox_.ok()) {
    Log(cycle->log, NGX_LOG_EMERG, "cannot create an eventfd for the engine's outbox");
    return false;
  }
  connection_ = ngx_get_connection(outbox_.doorbell(), cycle->log);
  if (connection_ == nullptr) return false;
  connection_->data = this;
  connection_->pool = cycle->pool;
  // When a graceful shutdown begins, nginx calls the read handlers of idle connections once. A
  // module gets no other notification.
  connection_->idle = 1;
  for (ngx_event_t* event : {connection_->read, connection_->write}) {
    event->log = cycle->log;
    event->channel = 1;  // not a client connection: no alert if it is open at exit
  }
  connection_->read->handler = OnDoorbell;
  // No flags: level-triggered if the event method supports that.
  if (ngx_add_event(connection_->read, NGX_READ_EVENT, 0) == NGX_ERROR) {
    ngx_free_connection(connection_);
    connection_ = nullptr;
    return false;
  }
  return true;
}

void Port::Close() {
  if (connection_ == nullptr) return;
  if (connection_->read->posted) {
    ngx_delete_posted_event(connection_->read);  // the macro expands to several statements
  }
  if (connection_->read->active) ngx_del_event(connection_->read, NGX_READ_EVENT, 0);
  connection_->fd = static_cast<ngx_socket_t>(-1);  // the outbox closes the descriptor
  ngx_free_connection(connection_);
  connection_ = nullptr;
}

void Port::OnDoorbell(ngx_event_t* event) noexcept {
  Guarded(ngx_cycle->log, [&] {
    auto* connection = static_cast<ngx_connection_t*>(event->data);
    auto* port = static_cast<Port*>(connection->data);
    if (connection->close) {
      connection->close = 0;
      connection->idle = 0;
      port->receiver_.OnShutdown();
    }
    try {
      port->TakeBatch(event);
    } catch (...) {
      // The doorbell is already cleared. Without this event the other items would wait for the next
      // push.
      ngx_post_event(event, &ngx_posted_next_events);
      throw;
    }
  });
}

void Port::TakeBatch(ngx_event_t* event) {
  if (next_ == items_.size()) {
    items_.clear();
    next_ = 0;
    // The doorbell is cleared before the queue is read: an item that is pushed in between rings it
    // again.
    outbox_.ClearDoorbell();
    outbox_.Swap(items_);
  }
  auto end = MonotonicClock::now() + kBatchTimeMax;
  size_t last = std::min(items_.size(), next_ + kBatchItemsMax);
  while (next_ < last) {
    receiver_.OnItem(items_[next_++]);
    if (next_ % kItemsPerClockRead == 0 && MonotonicClock::now() >= end) break;
  }
  receiver_.OnBatchEnd();
  if (next_ < items_.size()) {
    ngx_post_event(event, &ngx_posted_next_events);
  } else {
    items_.clear();
    if (items_.capacity() > kItemsKeptMax) FreeMemory(items_);
    next_ = 0;
  }
}

void Port::DrainAll() {
  for (; next_ < items_.size(); ++next_) receiver_.OnItem(items_[next_]);
  outbox_.Swap(items_);
  for (next_ = 0; next_ < items_.size(); ++next_) receiver_.OnItem(items_[next_]);
  items_.clear();
  next_ = 0;
}

}  // namespace agent_graph::nginx
