// Calls a function on an engine thread whenever a socket can be read.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>

#include "base/file_descriptor.h"

namespace agent_graph::state {

// Owns itself: lives until `receive` returns false or the loop is destroyed.
class LoopReader : public std::enable_shared_from_this<LoopReader> {
 public:
  // Calls `receive` on `loop` whenever `socket` has bytes, or its end. Call on the loop's thread.
  // Uses a descriptor of its own. Does nothing if there is none left, or if the loop can watch no
  // further one.
  static void Start(boost::asio::io_context& loop, int socket, std::function<bool()> receive);

  LoopReader(boost::asio::io_context& loop, std::function<bool()> receive);

 private:
  void Wait();

  boost::asio::posix::stream_descriptor socket_;
  const std::function<bool()> receive_;
};

}  // namespace agent_graph::state
