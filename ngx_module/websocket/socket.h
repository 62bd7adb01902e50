// One WebSocket on an nginx connection: reading, writing, keep-alive and the closing handshake.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>

#include "ngx_module/ngx.h"
#include "websocket/endpoint.h"

namespace agent_graph::nginx {

struct SocketOptions {
  websocket::ParserLimits limits;
  ngx_msec_t ping_interval;  // 0: no pings
  ngx_msec_t pong_timeout;
  ngx_msec_t close_timeout;
  int unsent_bytes_max;  // unsent bytes in the kernel; 0: no limit
};

// Receives the messages of a socket.
class SocketReceiver {
 public:
  // Receives a complete message. False: no room for another one until Read is called again.
  virtual bool OnMessage(bool binary, std::string payload) = 0;
  // False: an incomplete message of so many bytes is not read on until Read is called again.
  virtual bool MayReadOn(size_t message_bytes) = 0;

 protected:
  ~SocketReceiver() = default;
};

// Takes over the connection when the 101 response is being sent. Used by the event loop's thread
// only. Never finalizes the request; each call returns the state of the connection instead. Holds
// no buffer while idle.
class Socket {
 public:
  enum class Life : uint8_t {
    kOpen,
    kClosed,  // the closing handshake is complete
    kLost,    // the peer has disconnected, failed or timed out
  };

  Socket(ngx_http_request_t* request, const SocketOptions& options);
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Starts with the bytes that arrived after the handshake request.
  void Begin();
  // Reads until the connection has no more input or `receiver` has no room.
  Life Read(SocketReceiver& receiver);
  // Writes what is queued, and waits for the connection to become writable for the rest.
  Life Write();
  // Call when the read timer has expired: sends a ping, or gives up a peer that does not answer.
  Life OnReadTimer();

  // Queues complete frames.
  void Append(std::string frames);
  // Starts the closing handshake. `last_words`: one complete frame or nothing, sent after all
  // others.
  void Close(uint16_t code, std::string_view reason, std::string last_words = {});
  // Discards the message that is being read.
  void SkipMessage();

  // Bytes of frames that were sent since the last call.
  uint64_t TakeReleased() { return std::exchange(released_, 0); }
  // Drops frames that were not sent, and returns their size in bytes.
  uint64_t DiscardUnsent();
  // Bytes of frames that were not sent, and the same with what the kernel keeps until the client
  // has received it.
  uint64_t unsent_bytes() const;
  uint64_t unacknowledged_bytes() const;
  // Bytes of incomplete messages, and of input that waits for the receiver.
  size_t input_bytes() const { return unread_.size() + endpoint_.buffered_bytes(); }
  // True if input waits because the receiver has no room.
  bool paused() const { return paused_; }
  const websocket::Endpoint& endpoint() const { return endpoint_; }

 private:
  Life Receive(SocketReceiver& receiver);
  bool Parse(std::span<char> input, SocketReceiver& receiver);
  void OnInput();
  void ArmReadTimer();
  bool TakeNextFrames();
  Life SendFrames();
  Life WaitToWrite(bool blocked);

  ngx_http_request_t* const request_;
  ngx_connection_t* const connection_;
  const SocketOptions options_;
  websocket::Endpoint endpoint_;

  std::string unread_;  // input that arrived before the receiver was full
  bool paused_ = false;
  bool awaiting_pong_ = false;
  bool close_timer_set_ = false;
  bool skips_message_ = false;  // at the caller's request

  std::deque<std::string> queue_;  // frames that are not being written yet
  std::string current_;            // being written; sent up to sent_
  size_t sent_ = 0;
  bool current_counts_ = false;  // counts for the exchange's credit: not a control frame
  uint64_t released_ = 0;
  std::string last_words_;  // sent before the Close frame; takes no credit of an exchange
};

}  // namespace agent_graph::nginx
