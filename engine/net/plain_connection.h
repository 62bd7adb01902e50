// PlainConnection: a TCP connection without TLS on which one HTTP call at a time runs.
#pragma once

#include <array>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/result.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "net/resolve.h"

namespace agent_graph::net {

// Receives the ends of its connection's operations. Called by the event loop, so it must not
// suspend.
class PlainConnectionUser {
 public:
  virtual ~PlainConnectionUser() = default;
  virtual void OnChange() = 0;
};

// For the loop's thread only, and one user at a time. Asynchronous operations keep the object
// alive, so a user may leave at any time: it calls Close and drops its reference.
class PlainConnection : public std::enable_shared_from_this<PlainConnection> {
 public:
  explicit PlainConnection(boost::asio::io_context& loop) : socket_(loop) {}

  // Null: none, while the connection is idle.
  void set_user(PlainConnectionUser* user) { user_ = user; }

  // Begins to connect; once.
  void StartConnecting(const StreamEndpoint& endpoint);
  bool is_connecting() const { return connecting_; }
  bool is_connected() const { return connected_; }

  // Sends as much of `first` and `second` as the socket takes now; returns how much that was. A
  // failure is no error of the connection: the server may have replied before it closed.
  boost::system::result<size_t> Send(std::string_view first, std::string_view second);
  // Begins to wait until the socket takes more.
  void StartWaitingForRoom();

  // Begins to read, unless that was begun before.
  void StartReading();
  // True if the read that was begun last has ended: with bytes, the end of the stream or an error.
  bool has_received() const { return received_; }
  // Returns the bytes, valid until the next call of this class; empty at the end of the stream and
  // after an error.
  std::string_view TakeReceived();
  // If the last bytes filled the buffer, there may be more: reads up to `size` bytes into `buffer`
  // without waiting. Returns their number; 0 if there are none now.
  size_t ReadMore(char* buffer, size_t size);

  // The first failure of connecting or reading; the end of the stream is none.
  const boost::system::error_code& error() const { return error_; }

  // True if the server has neither closed the connection nor sent anything unexpected.
  bool IsQuiet();
  // Ends what was started, without a call of the user.
  void Close();

 private:
  // A few tokens. Each open stream holds this buffer while it waits; larger pieces use another.
  static constexpr size_t kBufferBytes = 1024;

  void Note(const boost::system::error_code& error);

  boost::asio::generic::stream_protocol::socket socket_;
  PlainConnectionUser* user_ = nullptr;
  bool connecting_ = false;
  bool connected_ = false;
  bool reading_ = false;
  bool waiting_for_room_ = false;
  bool received_ = false;
  size_t received_bytes_ = 0;
  size_t last_read_bytes_ = 0;
  boost::system::error_code error_;
  std::array<char, kBufferBytes> buffer_;
};

}  // namespace agent_graph::net
