// Http1Connection: a connection, with or without TLS, on which one HTTP/1.1 call at a time runs.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "net/resolve.h"
#include "net/tls_session.h"

namespace agent_graph::net {

// Receives the ends of its connection's operations. Called by the event loop, so it must not
// suspend.
class Http1ConnectionUser {
 public:
  virtual ~Http1ConnectionUser() = default;
  virtual void OnChange() = 0;
};

// For the loop's thread only, and one user at a time. Asynchronous operations keep the object
// alive, so a user may leave at any time: it calls Close and drops its reference.
class Http1Connection : public std::enable_shared_from_this<Http1Connection> {
 public:
  // `tls` is null for a connection without TLS; otherwise the server's certificate must be valid
  // for `host`.
  Http1Connection(boost::asio::io_context& loop, std::shared_ptr<boost::asio::ssl::context> tls,
                  std::string host)
      : socket_(loop), context_(std::move(tls)), host_(std::move(host)) {}

  // Null: none, while the connection is idle.
  void set_user(Http1ConnectionUser* user) { user_ = user; }

  // Begins to connect, and then the handshake of TLS; once.
  void StartConnecting(const StreamEndpoint& endpoint);
  bool is_connecting() const { return connecting_; }
  // True if only the handshake of TLS is missing, or nothing.
  bool has_reached_server() const { return connected_ || tls_ != nullptr; }
  bool is_connected() const { return connected_; }

  // Sends as much of `first` and `second` as the socket takes now; returns how much that was, and
  // nullopt if it takes no more at all. That is no failure of the connection: the server may have
  // replied before it closed. After 0 the next call must begin with the same bytes.
  std::optional<size_t> Send(std::string_view first, std::string_view second);
  // Begins to wait until the socket takes more.
  void StartWaitingForRoom();

  // Begins to wait until Read may have something to return, unless that was begun before. If it may
  // already, the wait ends in the next turn of the event loop.
  void StartWaitingForBytes();
  // True from the end of that wait until Read has returned all that has arrived.
  bool may_read() const { return may_read_; }
  // Reads without waiting; call it if may_read(). Returns the number of bytes: nullopt if none have
  // arrived, 0 at the end of the stream and after a failure.
  std::optional<size_t> Read(char* buffer, size_t size);

  // The first failure of connecting or reading; the end of the stream is none. With TLS the server
  // has to announce that end, because anybody on the way can close a connection.
  const Status& failure() const { return failure_; }

  // True if the server has neither closed the connection nor sent anything unexpected.
  bool IsQuiet();
  // Ends what was started, without a call of the user.
  void Close();

 private:
  void OnReached(const boost::system::error_code& error);
  void ContinueHandshake();
  std::optional<size_t> ReadTls(char* buffer, size_t size);
  void OnReadable();
  // Calls `next` when the socket is ready; if waiting fails, `next` finds out why.
  void WaitThen(TlsSession::Outcome reason, void (Http1Connection::*next)());
  void EndConnecting(Status failure);
  void SetFailure(Status failure);
  void Note(Status failure);

  boost::asio::generic::stream_protocol::socket socket_;
  const std::shared_ptr<boost::asio::ssl::context> context_;
  const std::string host_;
  std::unique_ptr<TlsSession> tls_;  // null: no TLS, or not connected yet
  Http1ConnectionUser* user_ = nullptr;
  bool connecting_ = false;
  bool connected_ = false;
  bool waiting_for_bytes_ = false;
  bool waiting_for_room_ = false;
  bool may_read_ = false;
  Status failure_;
};

}  // namespace agent_graph::net
