// Http1Connections: keeps the idle connections of one engine thread for the next call. It closes
// those that are idle for long, and within a second those that the server has closed.
#pragma once

#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "net/http1_connection.h"

namespace agent_graph::net {

// For the engine thread only. It is a service of its event loop: created on first use, destroyed
// with the loop. Servers are named by their host and port.
class Http1Connections : public boost::asio::execution_context::service {
 public:
  static boost::asio::execution_context::id id;

  explicit Http1Connections(boost::asio::io_context& loop);
  static Http1Connections& Of(boost::asio::io_context& loop);

  // A connection to `server` that was used lately and is still usable; null if there is none.
  std::shared_ptr<Http1Connection> Take(const std::string& server);
  // A buffer that the calls of this thread share. It is free again when a fiber is suspended.
  std::vector<char>& buffer() { return buffer_; }
  // Keeps a connection on which the reply to the last request was read to its end.
  void Keep(const std::string& server, std::shared_ptr<Http1Connection> connection);

 private:
  struct Idle {
    std::shared_ptr<Http1Connection> connection;
    Deadline until;
  };

  void shutdown() override;
  void StartTimer();
  void DropUnusable();
  void DropOldest();

  std::unordered_map<std::string, std::deque<Idle>> idle_;  // the oldest of each server first
  std::vector<char> buffer_;
  size_t count_ = 0;
  boost::asio::steady_timer timer_;  // until the next check
  bool timer_runs_ = false;
};

}  // namespace agent_graph::net
