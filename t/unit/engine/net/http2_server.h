// A server of HTTP/2 over TLS that does with each request as a test says. Its replies keep to the
// flow control of the client.
#pragma once

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tls_server.h"

namespace agent_graph::testing {

struct Http2Request {
  int32_t stream = 0;
  std::map<std::string, std::string> headers;
  std::string body;
};

// One connection. A script calls it on the connection's thread.
class Http2Session {
 public:
  using Handler = std::function<void(Http2Session&, const Http2Request&)>;

  Http2Session(SSL* tls, const Handler& handler, uint32_t streams_max)
      : tls_(tls), handler_(handler) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &OnHeader);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &OnData);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &OnFrame);
    nghttp2_session_callbacks_set_select_padding_callback(callbacks, &ChoosePadding);
    nghttp2_session_server_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams_max}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 1);
  }
  ~Http2Session() { nghttp2_session_del(session_); }
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  void Serve() {
    char data[8 * 1024];
    for (;;) {
      if (!Send() || closing_) return;
      const int size = SSL_read(tls_, data, sizeof data);
      if (size <= 0) return;
      const auto* const bytes = reinterpret_cast<const uint8_t*>(data);
      if (nghttp2_session_mem_recv(session_, bytes, static_cast<size_t>(size)) < 0) return;
    }
  }

  // Number of the request on this connection, from 1.
  int requests() const { return requests_; }

  void Reply(int32_t stream, std::string body, bool ends = true, bool with_trailers = false) {
    Part& part = parts_[stream];
    part = {std::move(body), 0, ends, with_trailers};
    nghttp2_nv fields[] = {Field(":status", "200"), Field("x-stream", "yes")};
    nghttp2_data_provider provider{};
    provider.source.ptr = &part;
    provider.read_callback = &OnGive;
    nghttp2_submit_response(session_, stream, fields, 2, &provider);
  }
  void SendInformation(int32_t stream) {
    nghttp2_nv fields[] = {Field(":status", "103"), Field("link", "x")};
    nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream, nullptr, fields, 2, nullptr);
  }
  void Reset(int32_t stream, uint32_t error) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, error);
  }
  // Changes what the client may do from now on.
  void SendSettings(uint32_t streams_max, uint32_t window) {
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams_max},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 2);
  }
  // Sends the rest of a reply that had no end.
  void EndReply(int32_t stream) {
    parts_[stream].ends = true;
    nghttp2_session_resume_data(session_, stream);
  }
  // Adds so many bytes to each frame of a body.
  void UsePadding(size_t bytes) { padding_ = bytes; }
  void SendGoaway(int32_t last_stream) {
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last_stream, NGHTTP2_NO_ERROR, nullptr, 0);
  }
  // Closes the connection after what was submitted has been sent.
  void Close() { closing_ = true; }

 private:
  struct Part {
    std::string body;
    size_t given = 0;
    bool ends = true;
    bool with_trailers = false;
  };

  static nghttp2_nv Field(std::string_view name, std::string_view value) {
    return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
            reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
            NGHTTP2_NV_FLAG_NONE};
  }
  static Http2Session& From(void* self) { return *static_cast<Http2Session*>(self); }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* self) {
    From(self)
        .requests_in_[frame->hd.stream_id]
        .headers[{reinterpret_cast<const char*>(name), name_size}]
        .assign(reinterpret_cast<const char*>(value), value_size);
    return 0;
  }
  static int OnData(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data, size_t size,
                    void* self) {
    From(self).requests_in_[stream].body.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    const bool is_request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!is_request || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    Http2Session& session = From(self);
    Http2Request request = std::move(session.requests_in_[frame->hd.stream_id]);
    session.requests_in_.erase(frame->hd.stream_id);
    request.stream = frame->hd.stream_id;
    ++session.requests_;
    session.handler_(session, request);
    return 0;
  }
  static ssize_t OnGive(nghttp2_session* session, int32_t stream, uint8_t* data, size_t room,
                        uint32_t* flags, nghttp2_data_source* source, void*) {
    Part& part = *static_cast<Part*>(source->ptr);
    const size_t size = part.body.copy(reinterpret_cast<char*>(data), room, part.given);
    part.given += size;
    if (part.given < part.body.size()) return static_cast<ssize_t>(size);
    if (!part.ends) return size > 0 ? static_cast<ssize_t>(size) : ssize_t{NGHTTP2_ERR_DEFERRED};
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (part.with_trailers) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      nghttp2_nv fields[] = {Field("x-trailer", "yes")};
      nghttp2_submit_trailer(session, stream, fields, 1);
    }
    return static_cast<ssize_t>(size);
  }

  static ssize_t ChoosePadding(nghttp2_session*, const nghttp2_frame* frame, size_t size_max,
                               void* self) {
    const size_t padding = frame->hd.type == NGHTTP2_DATA ? From(self).padding_ : 0;
    return static_cast<ssize_t>(std::min(frame->hd.length + padding, size_max));
  }

  bool Send() {
    for (;;) {
      const uint8_t* data = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &data);
      if (size <= 0) return size == 0;
      if (SSL_write(tls_, data, static_cast<int>(size)) <= 0) return false;
    }
  }

  SSL* const tls_;
  const Handler& handler_;
  nghttp2_session* session_ = nullptr;
  std::map<int32_t, Http2Request> requests_in_;
  std::map<int32_t, Part> parts_;
  int requests_ = 0;
  size_t padding_ = 0;
  bool closing_ = false;
};

class Http2Server : public Http2TlsServer {
 public:
  explicit Http2Server(Http2Session::Handler handler, uint32_t streams_max = 100)
      : Http2TlsServer([handler = std::move(handler), streams_max](SSL* tls) {
          Http2Session(tls, handler, streams_max).Serve();
        }) {}
};

}  // namespace agent_graph::testing
