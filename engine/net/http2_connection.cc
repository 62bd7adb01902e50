#include "net/http2_connection.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/error.hpp>
#include <exception>
#include <utility>
#include <vector>

#include "base/free_memory.h"

namespace agent_graph::net {

using boost::system::error_code;

namespace {

constexpr size_t kStreamsMax = 1000;
constexpr int32_t kConnectionWindow = 1024 * 1024;
constexpr int kReadsAtOnce = 64;
constexpr size_t kWriteBytes = 64 * 1024;
constexpr size_t kKeptWriteBytes = 4 * 1024;
constexpr std::chrono::seconds kIdleTimeMax{118};  // as libcurl keeps connections
// Frames that wait because the server does not read. The library bounds only its own answers (to
// PING and SETTINGS).
constexpr size_t kQueuedFramesMax = 4 * kStreamsMax;
constexpr int32_t kNoStreamMax = INT32_MAX;  // in the first of two GOAWAY frames

Http2End EndOf(uint32_t error) {
  if (error == NGHTTP2_REFUSED_STREAM) return Http2End::kRefused;
  if (error == NGHTTP2_HTTP_1_1_REQUIRED) return Http2End::kHttp11Required;
  return Http2End::kReset;
}

nghttp2_nv Field(std::string_view name, std::string_view value) {
  // The library copies both.
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NONE};
}

// Calls `body` for a callback of the library, which an exception (no memory) must not pass through.
// The failure ends the connection.
template <typename Body>
auto WithoutException(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception&) {
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
}

}  // namespace

Http2Connection::Http2Connection(boost::asio::io_context& loop, SocketRoute route,
                                 std::shared_ptr<boost::asio::ssl::context> tls, Owner& owner,
                                 uint64_t serial)
    : serial_(serial),
      owner_(&owner),
      tls_(std::move(tls)),
      stream_(loop),
      opener_(loop, stream_, std::move(route)),
      timer_(loop) {}

Http2Connection::~Http2Connection() {
  nghttp2_session_del(session_);
}

void Http2Connection::Start(std::chrono::milliseconds timeout) {
  GiveUpAfter(timeout, Failure::kTimeout);
  opener_.Start(shared_from_this(), timeout,
                [this](const char*, error_code error) { OnOpen(error); });
}

void Http2Connection::LetGo() {
  owner_ = nullptr;
  Close(Failure::kOther);
}

void Http2Connection::OnOpen(error_code error) {
  if (error == boost::beast::error::timeout) return Close(Failure::kTimeout);
  if (error) return Close(Failure::kOther);
  if (stream_.protocol() != "h2") return Close(Failure::kHttp1);
  Begin();
}

void Http2Connection::StartOn(int descriptor) {
  error_code error;
  stream_.next_layer().socket().assign(boost::asio::ip::tcp::v4(), descriptor, error);
  if (!error) return Begin();
  ::close(descriptor);
  Close(Failure::kOther);
}

void Http2Connection::Begin() {
  error_code error;
  stream_.next_layer().socket().non_blocking(true, error);
  if (error || !StartSession()) return Close(Failure::kOther);
  Flush();
  Read();
}

bool Http2Connection::StartSession() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0) return false;
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &OnHeader);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &OnFrame);
  nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, &OnNotSent);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &OnData);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &OnStreamClose);
  if (nghttp2_option_new(&option) == 0) {
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_session_client_new2(&session_, callbacks, this, option);
    nghttp2_option_del(option);
  }
  nghttp2_session_callbacks_del(callbacks);
  if (session_ == nullptr) return false;
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kReadAheadBytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kHeadBytesMax}};
  return nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0 &&
         nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow) ==
             0;
}

size_t Http2Connection::room() const {
  if (!is_open()) return 0;
  if (nghttp2_session_get_outbound_queue_size(session_) >= kQueuedFramesMax) return 0;
  const size_t allowed = std::min<size_t>(
      nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS),
      kStreamsMax);
  const size_t streams = std::min(allowed, streams_.size());
  return std::min(allowed - streams, requests_max_ - std::min(requests_max_, requests_));
}

int32_t Http2Connection::Open(const HttpHeaders& headers, bool has_body, Http2Stream& stream) {
  std::vector<nghttp2_nv> fields;
  fields.reserve(headers.size());
  for (const auto& [name, value] : headers) fields.push_back(Field(name, value));
  nghttp2_data_provider body{};
  body.read_callback = &OnGiveBody;
  const int32_t number = nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(),
                                                has_body ? &body : nullptr, nullptr);
  if (number <= 0) return 0;
  ++requests_;
  streams_.emplace(number, &stream);
  if (std::exchange(is_idle_, false)) timer_.cancel();
  FlushSoon();
  return number;
}

void Http2Connection::Consume(int32_t number, size_t bytes) {
  if (closed_) return;
  nghttp2_session_consume_stream(session_, number, bytes);
  if (nghttp2_session_want_write(session_) != 0) FlushSoon();
}

void Http2Connection::Reset(int32_t number) {
  if (streams_.erase(number) == 0 || closed_) return;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, number, NGHTTP2_CANCEL);
  FlushSoon();
}

void Http2Connection::DoubtSince(Deadline time) {
  if (received_at_ >= time || leaving_ || closed_) return;
  leaving_ = true;
  if (owner_ != nullptr) owner_->OnLeaving(*this, 0);
}

Http2Stream* Http2Connection::Find(int32_t number) const {
  const auto found = streams_.find(number);
  return found == streams_.end() ? nullptr : found->second;
}

ssize_t Http2Connection::OnGiveBody(nghttp2_session*, int32_t number, uint8_t* data, size_t room,
                                    uint32_t* flags, nghttp2_data_source*, void* self) {
  return WithoutException([&]() -> ssize_t {
    Http2Stream* const stream = From(self).Find(number);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    bool end = false;
    const size_t size = stream->GiveBody(reinterpret_cast<char*>(data), room, end);
    if (end) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  });
}

int Http2Connection::OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                              size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                              void* self) {
  return WithoutException([&]() -> int {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    if (Http2Stream* const stream = From(self).Find(frame->hd.stream_id)) {
      stream->OnHeader({reinterpret_cast<const char*>(name), name_size},
                       {reinterpret_cast<const char*>(value), value_size});
    }
    return 0;
  });
}

int Http2Connection::OnFrame(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
  return WithoutException([&]() -> int {
    Http2Connection& connection = From(self);
    const int32_t number = frame->hd.stream_id;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
      connection.OnGoaway(frame->goaway);
    } else if (frame->hd.type == NGHTTP2_SETTINGS && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
      if (!std::exchange(connection.open_, true)) connection.timer_.cancel();
      if (connection.owner_ != nullptr) connection.owner_->OnRoom(connection);
    } else if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) {
      Http2Stream* const stream = connection.Find(number);
      if (stream != nullptr && frame->hd.type == NGHTTP2_HEADERS) stream->OnHeadersEnd();
      if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
      // A server may answer before it has read the whole request. Then the rest is not sent.
      if (nghttp2_session_get_stream_local_close(session, number) == 0) {
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, number, NGHTTP2_NO_ERROR);
      }
      ++connection.replies_;
      connection.EndStream(number, Http2End::kComplete);
    }
    return 0;
  });
}

// A request that was opened just before the server's GOAWAY arrived.
int Http2Connection::OnNotSent(nghttp2_session*, const nghttp2_frame* frame, int, void* self) {
  return WithoutException([&]() -> int {
    if (frame->hd.type == NGHTTP2_HEADERS) {
      From(self).EndStream(frame->hd.stream_id, Http2End::kRefused);
    }
    return 0;
  });
}

int Http2Connection::OnData(nghttp2_session* session, uint8_t, int32_t number, const uint8_t* data,
                            size_t size, void* self) {
  return WithoutException([&]() -> int {
    nghttp2_session_consume_connection(session, size);
    if (Http2Stream* const stream = From(self).Find(number)) {
      stream->OnBody({reinterpret_cast<const char*>(data), size});
    }
    return 0;
  });
}

int Http2Connection::OnStreamClose(nghttp2_session*, int32_t number, uint32_t error, void* self) {
  return WithoutException([&]() -> int {
    From(self).EndStream(number, EndOf(error));
    return 0;
  });
}

// After a GOAWAY the library closes the streams that the server has not processed, as refused. If
// streams were open, the server seems to limit the requests of a connection; if none was, it has
// only closed an idle connection.
void Http2Connection::OnGoaway(const nghttp2_goaway& frame) {
  leaving_ = true;
  left_as_planned_ = frame.error_code == NGHTTP2_NO_ERROR && frame.last_stream_id > 0 &&
                     frame.last_stream_id != kNoStreamMax && !streams_.empty();
  // The numbers of streams are odd.
  const size_t requests =
      left_as_planned_ ? (static_cast<size_t>(frame.last_stream_id) + 1) / 2 : 0;
  if (owner_ != nullptr) owner_->OnLeaving(*this, requests);
}

void Http2Connection::EndStream(int32_t number, Http2End end) {
  const auto found = streams_.find(number);
  if (found == streams_.end()) return;
  Http2Stream* const stream = found->second;
  streams_.erase(found);
  stream->OnEnd(end);
}

void Http2Connection::Read() {
  stream_.async_read_some(boost::asio::buffer(received_),
                          [self = shared_from_this()](error_code error, size_t size) {
                            if (self->closed_) return;
                            if (error)
                              return self->Close(self->open_ ? Failure::kNone : Failure::kOther);
                            self->OnRead(size);
                          });
}

void Http2Connection::OnRead(size_t size) {
  received_at_ = MonotonicClock::now();
  const size_t streams = streams_.size();
  // A TLS record often holds one token. Read all available records at once, so that fibers and the
  // loop wake up only once, but at most kReadsAtOnce, so that other sockets are served, too.
  error_code error;
  for (int reads = 1; !error; ++reads) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(received_.data());
    if (nghttp2_session_mem_recv(session_, bytes, size) < 0) {
      return Close(open_ ? Failure::kNone : Failure::kOther);
    }
    if (writing_ || reads == kReadsAtOnce) break;
    // The next read reports an error, too.
    size = stream_.ReadNow(boost::asio::buffer(received_), error);
  }
  if (owner_ != nullptr && streams_.size() < streams) owner_->OnRoom(*this);
  Flush();
  CloseIfIdle();
  if (!closed_) Read();
}

// Calls of one turn of the loop share a write.
void Http2Connection::FlushSoon() {
  if (std::exchange(flush_posted_, true)) return;
  boost::asio::post(stream_.get_executor(), [self = shared_from_this()] {
    self->flush_posted_ = false;
    self->Flush();
    self->CloseIfIdle();
  });
}

void Http2Connection::Flush() {
  if (writing_ || closed_) return;
  sent_ = 0;
  if (unsent_.capacity() > kKeptWriteBytes) FreeMemory(unsent_);
  unsent_.clear();
  while (unsent_.size() < kWriteBytes) {
    const uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &data);
    if (size < 0) return Close(Failure::kNone);
    if (size == 0) break;
    unsent_.append(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
  }
  if (unsent_.empty()) {
    if (nghttp2_session_want_read(session_) == 0) Close(open_ ? Failure::kNone : Failure::kOther);
    return;
  }
  writing_ = true;
  WriteRest();
}

void Http2Connection::WriteRest() {
  stream_.async_write_some(
      boost::asio::const_buffer(unsent_.data() + sent_, unsent_.size() - sent_),
      [self = shared_from_this()](error_code error, size_t size) {
        if (self->closed_) return;
        if (error) return self->Close(self->open_ ? Failure::kNone : Failure::kOther);
        self->sent_ += size;
        if (self->sent_ < self->unsent_.size()) return self->WriteRest();
        self->writing_ = false;
        self->Flush();
        self->CloseIfIdle();
      });
}

void Http2Connection::GiveUpAfter(std::chrono::milliseconds time, Failure failure) {
  timer_.expires_after(time);
  timer_.async_wait([weak = weak_from_this(), failure](error_code error) {
    const auto self = weak.lock();
    if (error || self == nullptr || (self->open_ && !self->is_idle_)) return;
    self->Close(failure);
  });
}

void Http2Connection::CloseIfIdle() {
  if (closed_ || !open_ || writing_ || !streams_.empty()) return;
  if (leaving_ || has_used_its_requests()) return Close(Failure::kNone);
  if (!std::exchange(is_idle_, true)) GiveUpAfter(kIdleTimeMax, Failure::kNone);
}

void Http2Connection::Close(Failure failure) {
  const auto self = shared_from_this();
  if (std::exchange(closed_, true)) return;
  leaving_ = true;
  timer_.cancel();
  opener_.Cancel();
  stream_.next_layer().close();
  // The streams may look for another connection, so that the owner has to know first.
  if (owner_ != nullptr) owner_->OnClosed(*this, failure);
  for (const auto& [number, stream] : std::exchange(streams_, {})) stream->OnEnd(Http2End::kLost);
}

}  // namespace agent_graph::net
