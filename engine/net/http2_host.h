// The HTTP/2 connections of an engine thread to one server, and the calls that wait for one.
#pragma once

#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "net/http2_connection.h"

namespace agent_graph::net {

// A call that waits for a connection. One of the functions is called once, never inside Add.
class Http2Waiter {
 public:
  virtual ~Http2Waiter() = default;
  // Only a connection with a larger serial number will do.
  virtual uint64_t newer_than() const = 0;
  virtual std::chrono::milliseconds connect_timeout() const = 0;
  virtual void OnConnection(const std::shared_ptr<Http2Connection>& connection) = 0;
  // The server offers no HTTP/2, or the connection could not be made.
  virtual void OnNoHttp2() = 0;
  virtual void OnConnectTimeout() = 0;
};

// For the engine thread only.
class Http2Host final : public Http2Connection::Owner {
 public:
  Http2Host(boost::asio::io_context& loop, SocketRoute route, std::string ca_file);
  ~Http2Host() override;

  // False if the server was found to offer only HTTP/1.1 within the last hour.
  bool may_offer_http2() const { return MonotonicClock::now() >= http1_until_; }
  bool is_unused() const { return connections_.empty() && waiting_.empty(); }
  uint64_t newest_serial() const { return serials_; }

  // `waiter` must stay valid until one of its functions is called, or Remove.
  void Add(Http2Waiter& waiter);
  void Remove(Http2Waiter& waiter);
  void LetGo();

 private:
  void OnRoom(Http2Connection& connection) override;
  void OnLeaving(Http2Connection& connection, size_t requests) override;
  void OnClosed(Http2Connection& connection, Http2Connection::Failure failure) override;

  void ServeSoon();
  void Serve();
  std::shared_ptr<Http2Connection> ConnectionFor(const Http2Waiter& waiter) const;
  bool NeedsConnection() const;
  void Connect();
  void EndWaiting(Http2Connection::Failure failure);

  boost::asio::io_context& loop_;
  const SocketRoute route_;
  const std::string ca_file_;
  std::vector<std::shared_ptr<Http2Connection>> connections_;
  Http2Connection* connecting_ = nullptr;
  std::list<Http2Waiter*> waiting_;
  uint64_t serials_ = 0;
  // The number of requests after which the server closes a connection. Further requests would be
  // refused, and would have to be sent again.
  size_t requests_max_ = SIZE_MAX;
  Deadline http1_until_{};
  // Ends before the host; a posted function holds a weak pointer to it.
  std::shared_ptr<bool> serve_posted_ = std::make_shared<bool>(false);
};

// The hosts of an engine thread. It is a service of its event loop, like CurlLoop.
class Http2Hosts : public boost::asio::execution_context::service {
 public:
  static boost::asio::execution_context::id id;

  explicit Http2Hosts(boost::asio::io_context& loop);
  static Http2Hosts& Of(boost::asio::io_context& loop);

  // `proxy` is empty or the URL of an http:// proxy. Null: HTTP/2 cannot be used with this proxy.
  std::shared_ptr<Http2Host> HostFor(const Url& target, const std::string& proxy,
                                     const std::string& ca_file);

 private:
  void shutdown() override;

  boost::asio::io_context& loop_;
  std::map<std::string, std::shared_ptr<Http2Host>> hosts_;
};

}  // namespace agent_graph::net
