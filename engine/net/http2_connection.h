// Http2Connection: one connection to a server that many calls of an engine thread share (RFC 9113).
//
// The server may send kReadAheadBytes of each reply ahead of its reader. What the connection
// as a whole receives is acknowledged at once, so that a reader that waits delays no other stream.
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "net/http_client.h"
#include "net/socket_opener.h"
#include "net/socket_stream.h"

namespace agent_graph::net {

enum class Http2End : uint8_t {
  kComplete,
  kRefused,         // the server has not processed the request
  kHttp11Required,  // the server demands HTTP/1.1 for this request
  kReset,           // the server has ended the stream early, or it is not valid
  kLost,            // the connection was lost
};

// A request and its reply, as the connection sees them. The connection calls it only while it is
// being served by its event loop, never inside Open, Consume or Reset.
class Http2Stream {
 public:
  virtual ~Http2Stream() = default;
  // Copies the next bytes of the request's body, at most `room`; sets `end` with the last ones.
  virtual size_t GiveBody(char* data, size_t room, bool& end) = 0;
  virtual void OnHeader(std::string_view name, std::string_view value) = 0;
  virtual void OnHeadersEnd() = 0;
  virtual void OnBody(std::string_view piece) = 0;
  // The last call. The stream's number is not valid any more.
  virtual void OnEnd(Http2End end) = 0;
};

// For the engine thread only. The owner outlives it or calls LetGo. It stays alive while one of its
// operations is in progress.
class Http2Connection : public std::enable_shared_from_this<Http2Connection> {
 public:
  enum class Failure : uint8_t { kNone, kHttp1, kTimeout, kOther };

  class Owner {
   public:
    virtual ~Owner() = default;
    // The connection can take streams, or more of them than before.
    virtual void OnRoom(Http2Connection& connection) = 0;
    // The connection accepts no more streams. `requests` is the number of requests that the server
    // accepts per connection, if it seems to have a limit; otherwise 0.
    virtual void OnLeaving(Http2Connection& connection, size_t requests) = 0;
    // The connection is closed. `failure` is kNone if it had been open, and otherwise the reason
    // why it could not be opened.
    virtual void OnClosed(Http2Connection& connection, Failure failure) = 0;
  };

  // `serial` orders the connections of an owner by their age.
  Http2Connection(boost::asio::io_context& loop, SocketRoute route,
                  std::shared_ptr<boost::asio::ssl::context> tls, Owner& owner, uint64_t serial);
  ~Http2Connection();

  void Start(std::chrono::milliseconds timeout);
  // Instead of Start: owns a socket that is connected to a server of HTTP/2.
  void StartOn(int descriptor);
  // Closes the connection without calling its owner; ends all streams as lost.
  void LetGo();

  uint64_t serial() const { return serial_; }
  // True if a stream on it may find that the server had dropped the connection before.
  bool is_kept() const { return replies_ > 0; }
  bool is_open() const { return open_ && !leaving_; }
  // How many streams can be opened now.
  size_t room() const;
  size_t streams() const { return streams_.size(); }
  // Limits how many requests the connection takes in its life.
  void LimitRequests(size_t requests_max) { requests_max_ = requests_max; }
  bool has_used_its_requests() const { return requests_ >= requests_max_; }
  bool left_as_planned() const { return left_as_planned_; }
  // A call has waited in vain since `time`. If nothing at all has arrived since then, the
  // connection is probably dead, and takes no more streams.
  void DoubtSince(Deadline time);

  // Sends a request. Returns the number of its stream; 0: it is not possible. `headers` begin with
  // the pseudo headers. `stream` must stay valid until OnEnd or Reset.
  int32_t Open(const HttpHeaders& headers, bool has_body, Http2Stream& stream);
  // The reader has taken `bytes` of the reply, so that the server may send as many.
  void Consume(int32_t number, size_t bytes);
  // Ends one stream; it gets no more calls.
  void Reset(int32_t number);

 private:
  static Http2Connection& From(void* self) { return *static_cast<Http2Connection*>(self); }
  static ssize_t OnGiveBody(nghttp2_session*, int32_t number, uint8_t* data, size_t room,
                            uint32_t* flags, nghttp2_data_source* source, void* self);
  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t flags,
                      void* self);
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self);
  static int OnNotSent(nghttp2_session*, const nghttp2_frame* frame, int error, void* self);
  static int OnData(nghttp2_session*, uint8_t flags, int32_t number, const uint8_t* data,
                    size_t size, void* self);
  static int OnStreamClose(nghttp2_session*, int32_t number, uint32_t error, void* self);

  Http2Stream* Find(int32_t number) const;
  void OnOpen(boost::system::error_code error);
  void Begin();
  bool StartSession();
  void OnGoaway(const nghttp2_goaway& frame);
  void EndStream(int32_t number, Http2End end);
  void Read();
  void OnRead(size_t size);
  void FlushSoon();
  void Flush();
  void WriteRest();
  void GiveUpAfter(std::chrono::milliseconds time, Failure failure);
  // Closes the connection if it has no more use, or some time after its last stream.
  void CloseIfIdle();
  void Close(Failure failure);

  const uint64_t serial_;
  Owner* owner_;  // null after LetGo
  const std::shared_ptr<boost::asio::ssl::context> tls_;
  SocketStream stream_;
  SocketOpener opener_;
  boost::asio::steady_timer timer_;  // until the connection is open, and while it has no stream
  nghttp2_session* session_ = nullptr;
  std::unordered_map<int32_t, Http2Stream*> streams_;
  size_t requests_ = 0;
  size_t requests_max_ = SIZE_MAX;
  size_t replies_ = 0;    // complete ones
  bool open_ = false;     // the server's settings have arrived
  bool leaving_ = false;  // takes no more streams
  bool left_as_planned_ = false;
  bool closed_ = false;
  bool flush_posted_ = false;
  bool writing_ = false;
  bool is_idle_ = false;  // the timer will close it
  Deadline received_at_{};
  std::array<char, 16 * 1024> received_;  // as large as a TLS record
  std::string unsent_;
  size_t sent_ = 0;  // bytes of `unsent_`
};

}  // namespace agent_graph::net
