// Opens a SocketStream to a server: looks up its name, connects, asks a proxy for a tunnel, and
// makes the TLS handshake.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "net/resolve.h"
#include "net/socket_stream.h"
#include "net/url.h"
#include "runtime/cancellation.h"

namespace agent_graph::net {

struct SocketRoute {
  Url target;
  std::optional<Url> proxy = {};             // an http:// proxy
  boost::asio::ssl::context* tls = nullptr;  // null: not encrypted
  // Addresses to connect to: of the proxy if there is one, otherwise of the target. Empty: the name
  // is looked up.
  std::vector<StreamEndpoint> addresses = {};
};

// Belongs to the thread of its loop, like the stream.
class SocketOpener {
 public:
  // There is no error if the stream is open. `what` is the step that failed, for a message.
  using Done = std::function<void(const char* what, boost::system::error_code)>;

  SocketOpener(boost::asio::io_context& loop, SocketStream& stream, SocketRoute route);

  // Call it on an engine thread. Calls `done` once, unless it is cancelled before. `owner` owns
  // this object and the stream; it is kept alive while an operation is in progress.
  void Start(std::shared_ptr<void> owner, std::chrono::milliseconds timeout, Done done);
  void Cancel();
  // The HTTP status with which the proxy has refused; 0: it has not.
  int refused_by_proxy() const { return refused_by_proxy_; }

 private:
  void LookUp();
  // `last` is why the address before it did not work.
  void ConnectToNext(boost::system::error_code last);
  void AskProxy();
  void ReadProxyAnswer();
  void Secure();
  void End(const char* what, boost::system::error_code error);

  const SocketRoute route_;
  SocketStream& stream_;
  std::shared_ptr<void> owner_;  // null: no attempt is in progress
  Done done_;
  runtime::Cancellation ended_;
  std::deque<StreamEndpoint> addresses_;  // those that were not tried
  boost::asio::steady_timer give_up_;
  boost::beast::flat_buffer buffer_;
  boost::beast::http::request<boost::beast::http::empty_body> connect_;
  boost::beast::http::response_parser<boost::beast::http::empty_body> proxy_answer_;
  int refused_by_proxy_ = 0;
};

}  // namespace agent_graph::net
