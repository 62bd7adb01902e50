#include "ngx_module/websocket/socket.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <array>
#include <utility>

#include "base/free_memory.h"

namespace agent_graph::nginx {
namespace {

// Shared by all sockets of the process: input is parsed before another socket reads.
std::array<char, 64 * 1024> receive_buffer;

// Reads of one socket in a row, after which other connections get their turn.
constexpr int kReadsInARow = 16;

// Waiting frames are joined into strings of up to this size.
constexpr size_t kJoinedFramesBytesMax = 16 * 1024;

// Sent bytes are no longer counted. Their memory is freed when there are more of them than this,
// and more than unsent bytes.
constexpr size_t kSentBytesKept = 64 * 1024;

ngx_msec_t SendTimeout(ngx_http_request_t* request) {
  return static_cast<ngx_http_core_loc_conf_t*>(
             ngx_http_get_module_loc_conf(request, ngx_http_core_module))
      ->send_timeout;
}

}  // namespace

Socket::Socket(ngx_http_request_t* request, const SocketOptions& options)
    : request_(request),
      connection_(request->connection),
      options_(options),
      endpoint_(options.limits) {}

void Socket::Begin() {
  request_->keepalive = 0;
  ngx_tcp_nodelay(connection_);
  if (options_.unsent_bytes_max > 0) {
    // Failure is ignored: at worst, an interruption by the user takes effect late.
    (void)setsockopt(connection_->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &options_.unsent_bytes_max,
                     sizeof(options_.unsent_bytes_max));
  }
  ngx_buf_t* early = request_->header_in;
  unread_.assign(reinterpret_cast<char*>(early->pos), early->last - early->pos);
  early->pos = early->last;
  ArmReadTimer();
}

Socket::Life Socket::Read(SocketReceiver& receiver) {
  paused_ = false;
  if (!unread_.empty()) {
    std::string input = std::exchange(unread_, {});
    if (!Parse(input, receiver)) return Write();
  }
  Life life = Receive(receiver);
  return life == Life::kOpen ? Write() : life;
}

Socket::Life Socket::Receive(SocketReceiver& receiver) {
  ngx_event_t* event = connection_->read;
  for (int reads = 0; event->ready; ++reads) {
    if (reads == kReadsInARow) {
      ngx_post_event(event, &ngx_posted_next_events);
      return Life::kOpen;
    }
    ssize_t size = connection_->recv(connection_, reinterpret_cast<u_char*>(receive_buffer.data()),
                                     receive_buffer.size());
    if (size == NGX_AGAIN) break;
    if (size == 0 || size == NGX_ERROR) {
      if (size == 0) event->eof = 1;
      return endpoint_.finished() ? Life::kClosed : Life::kLost;
    }
    OnInput();
    if (!Parse({receive_buffer.data(), static_cast<size_t>(size)}, receiver)) return Life::kOpen;
    if (endpoint_.close_is_urgent()) return Life::kOpen;  // ignore the rest
    if (endpoint_.open() && endpoint_.in_message() &&
        !receiver.MayReadOn(endpoint_.buffered_bytes())) {
      paused_ = true;
      return Life::kOpen;
    }
  }
  return ngx_handle_read_event(event, 0) == NGX_OK ? Life::kOpen : Life::kLost;
}

// False: the receiver is full. The rest of the input is kept.
bool Socket::Parse(std::span<char> input, SocketReceiver& receiver) {
  for (;;) {
    websocket::EndpointEvent event = endpoint_.Next(input);
    if (event.kind == websocket::EndpointEvent::Kind::kNeedInput) return true;
    if (event.kind == websocket::EndpointEvent::Kind::kSkipped &&
        !std::exchange(skips_message_, false)) {
      ngx_log_error(NGX_LOG_WARN, connection_->log, 0,
                    "agent_graph: a websocket message of more than %uL bytes was dropped",
                    options_.limits.message_bytes_max);
    }
    if (event.kind != websocket::EndpointEvent::Kind::kMessage) continue;
    if (receiver.OnMessage(event.opcode == websocket::Opcode::kBinary, std::move(event.payload))) {
      continue;
    }
    paused_ = true;
    unread_.assign(input.data(), input.size());
    return false;
  }
}

void Socket::OnInput() {
  awaiting_pong_ = false;
  if (!endpoint_.waits_for_close()) ArmReadTimer();
}

void Socket::ArmReadTimer() {
  ngx_event_t* event = connection_->read;
  if (endpoint_.waits_for_close()) {
    if (!std::exchange(close_timer_set_, true)) ngx_add_timer(event, options_.close_timeout);
  } else if (options_.ping_interval > 0) {
    ngx_add_timer(event, awaiting_pong_ ? options_.pong_timeout : options_.ping_interval);
  }
}

Socket::Life Socket::OnReadTimer() {
  connection_->read->timedout = 0;
  if (endpoint_.waits_for_close()) return Life::kClosed;
  // The pong may be in unread input, or the ping may be unsent: in both cases send_timeout applies.
  bool stalled = paused_ || !current_.empty();
  if (!stalled && awaiting_pong_) {
    ngx_log_error(NGX_LOG_INFO, connection_->log, NGX_ETIMEDOUT, "websocket client is silent");
    connection_->timedout = 1;
    return Life::kLost;
  }
  if (!stalled) {
    endpoint_.Ping("");
    awaiting_pong_ = true;
  }
  ArmReadTimer();
  return Write();
}

void Socket::Append(std::string frames) {
  if (!endpoint_.open() && !endpoint_.has_close_frame()) {
    released_ += frames.size();  // closing: dropped, and its credit returned
    return;
  }
  if (!queue_.empty() && queue_.back().size() + frames.size() <= kJoinedFramesBytesMax) {
    queue_.back().reserve(kJoinedFramesBytesMax);
    queue_.back() += frames;
    return;
  }
  queue_.push_back(std::move(frames));
}

void Socket::Close(uint16_t code, std::string_view reason, std::string last_words) {
  if (endpoint_.open()) last_words_ = std::move(last_words);
  endpoint_.Close(code, reason);
}

void Socket::SkipMessage() {
  endpoint_.SkipMessage();
  skips_message_ = true;
}

uint64_t Socket::DiscardUnsent() {
  uint64_t bytes = std::exchange(released_, 0);
  for (const std::string& frames : queue_) bytes += frames.size();
  if (current_counts_) bytes += current_.size() - sent_;
  queue_.clear();
  current_counts_ = false;
  return bytes;
}

uint64_t Socket::unsent_bytes() const {
  uint64_t bytes = current_.size() - sent_ + last_words_.size();
  for (const std::string& frames : queue_) bytes += frames.size();
  return bytes;
}

uint64_t Socket::unacknowledged_bytes() const {
  int in_kernel = 0;
  if (ioctl(connection_->fd, SIOCOUTQ, &in_kernel) != 0) in_kernel = 0;
  return unsent_bytes() + static_cast<uint64_t>(in_kernel);
}

// Selects what is written next. Call only at a frame boundary. False: there is nothing to write.
bool Socket::TakeNextFrames() {
  sent_ = 0;
  current_counts_ = false;
  if (endpoint_.has_close_frame() && (endpoint_.close_is_urgent() || queue_.empty())) {
    current_ = endpoint_.TakeControlFrames();
    if (!endpoint_.close_is_urgent()) current_ += std::exchange(last_words_, {});
    current_ += endpoint_.TakeCloseFrame();
    for (const std::string& frames : queue_) released_ += frames.size();
    queue_.clear();
    return true;
  }
  current_ = endpoint_.TakeControlFrames();
  if (!current_.empty()) return true;
  if (queue_.empty()) return false;
  current_ = std::move(queue_.front());
  queue_.pop_front();
  current_counts_ = true;
  return true;
}

Socket::Life Socket::SendFrames() {
  for (;;) {
    if (current_.empty() && !TakeNextFrames()) return WaitToWrite(false);
    if (!connection_->write->ready) return WaitToWrite(true);
    ssize_t sent = connection_->send(
        connection_, reinterpret_cast<u_char*>(current_.data()) + sent_, current_.size() - sent_);
    if (sent == NGX_ERROR) return Life::kLost;
    if (sent == NGX_AGAIN || sent == 0) return WaitToWrite(true);
    sent_ += static_cast<size_t>(sent);
    if (current_counts_) released_ += static_cast<size_t>(sent);
    if (connection_->write->timer_set) ngx_del_timer(connection_->write);
    if (sent_ == current_.size()) {
      FreeMemory(current_);
    } else if (sent_ > kSentBytesKept && sent_ > current_.size() / 2) {
      current_ = std::string(current_, std::exchange(sent_, 0));
    }
  }
}

Socket::Life Socket::Write() {
  // The handshake response may not have left nginx yet.
  if (request_->out != nullptr || connection_->buffered) {
    if (ngx_http_output_filter(request_, nullptr) == NGX_ERROR) return Life::kLost;
    if (request_->out != nullptr || connection_->buffered) return WaitToWrite(true);
  }
  Life life = SendFrames();
  if (life != Life::kOpen || !current_.empty()) return life;
  if (endpoint_.finished()) return Life::kClosed;
  if (endpoint_.waits_for_close()) ArmReadTimer();
  return Life::kOpen;
}

Socket::Life Socket::WaitToWrite(bool blocked) {
  ngx_event_t* event = connection_->write;
  if (ngx_handle_write_event(event, 0) != NGX_OK) return Life::kLost;
  if (!blocked) {
    if (event->timer_set) ngx_del_timer(event);
  } else if (!event->timer_set) {
    ngx_add_timer(event, SendTimeout(request_));
  }
  return Life::kOpen;
}

}  // namespace agent_graph::nginx
