#include "state/gateway/client/loop_reader.h"

#include <fcntl.h>

#include <utility>

namespace agent_graph::state {

void LoopReader::Start(boost::asio::io_context& loop, int socket, std::function<bool()> receive) {
  FileDescriptor own(fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (!own) return;
  const auto reader = std::make_shared<LoopReader>(loop, std::move(receive));
  boost::system::error_code error;
  reader->socket_.assign(own.get(), error);
  if (error) return;
  own.Release();
  reader->Wait();
}

LoopReader::LoopReader(boost::asio::io_context& loop, std::function<bool()> receive)
    : socket_(loop), receive_(std::move(receive)) {}

void LoopReader::Wait() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!error && self->receive_()) self->Wait();
                     });
}

}  // namespace agent_graph::state
