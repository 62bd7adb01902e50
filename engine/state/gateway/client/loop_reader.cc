#include "state/gateway/client/loop_reader.h"

#include <fcntl.h>

#include <utility>

namespace agent_graph::state {

void LoopReader::Start(boost::asio::io_context& loop, int socket, std::function<bool()> receive) {
  FileDescriptor own(fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (!own) return;
  std::make_shared<LoopReader>(loop, std::move(own), std::move(receive))->Wait();
}

LoopReader::LoopReader(boost::asio::io_context& loop, FileDescriptor socket,
                       std::function<bool()> receive)
    : socket_(loop, socket.Release()), receive_(std::move(receive)) {}

void LoopReader::Wait() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!error && self->receive_()) self->Wait();
                     });
}

}  // namespace agent_graph::state
