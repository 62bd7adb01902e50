// One WebSocket on an nginx connection: bytes in and out, keep-alive and the closing handshake.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>

#include "ngx.h"
#include "websocket/endpoint.h"

namespace agent_graph::nginx {

struct SocketOptions {
  websocket::ParserLimits limits;
  ngx_msec_t ping_interval;  // 0: no pings
  ngx_msec_t pong_timeout;
  ngx_msec_t close_timeout;
  int unsent_bytes_max;  // of frames in the kernel; 0: as many as it takes
};

class SocketReceiver {
 public:
  // A whole message. False: there is no room for another until Read is called again.
  virtual bool OnMessage(bool binary, std::string payload) = 0;

 protected:
  ~SocketReceiver() = default;
};

// Takes the connection over when the 101 is on its way. The loop's thread only; never finalizes the
// request itself, every call says what has become of the connection. Holds no buffer while idle.
class Socket {
 public:
  enum class Life : uint8_t {
    kOpen,
    kClosed,  // the closing handshake is over
    kLost,    // the peer is gone, or must be given up
  };

  Socket(ngx_http_request_t* request, const SocketOptions& options);
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // What arrived behind the handshake comes first.
  void Begin();
  // Takes what the connection has, until it has no more or `receiver` has no room.
  Life Read(SocketReceiver& receiver);
  // Writes what there is and waits for room for the rest.
  Life Write();
  Life OnReadTimer();

  // Whole frames.
  void Append(std::string frames);
  // `last_words` are a whole frame or none, behind all others.
  void Close(uint16_t code, std::string_view reason, std::string last_words = {});
  // The message that is being read is lost.
  void SkipMessage();

  // Bytes of frames that have left since the last call.
  uint64_t TakeReleased() { return std::exchange(released_, 0); }
  // Frames that will never leave.
  uint64_t DiscardUnsent();
  // Input that is no whole message yet, or waits for room.
  size_t input_bytes() const { return unread_.size() + endpoint_.buffered_bytes(); }
  // Input waits for room.
  bool paused() const { return paused_; }
  const websocket::Endpoint& endpoint() const { return endpoint_; }

 private:
  Life Receive(SocketReceiver& receiver);
  bool Parse(std::span<char> input, SocketReceiver& receiver);
  void Heard();
  void ArmReadTimer();
  bool TakeNextFrames();
  Life SendFrames();
  Life WaitToWrite(bool blocked);

  ngx_http_request_t* const request_;
  ngx_connection_t* const connection_;
  const SocketOptions options_;
  websocket::Endpoint endpoint_;

  std::string unread_;  // input that came before the receiver was full
  bool paused_ = false;
  bool awaiting_pong_ = false;
  bool close_timer_set_ = false;
  bool skips_message_ = false;  // by the caller's wish

  std::deque<std::string> queue_;  // frames not begun
  std::string current_;            // being written, from sent_ on
  size_t sent_ = 0;
  bool current_counts_ = false;  // against the exchange's credit: not a control frame
  uint64_t released_ = 0;
  std::string last_words_;  // before the Close frame; no exchange's, takes no credit
};

}  // namespace agent_graph::nginx
