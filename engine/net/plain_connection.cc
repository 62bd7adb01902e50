#include "net/plain_connection.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <utility>

#include "net/open_socket.h"

namespace agent_graph::net {

using boost::system::error_code;

namespace {

bool IsTransient(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

error_code ToErrorCode(int error) {
  return {error, boost::system::system_category()};
}

}  // namespace

void PlainConnection::StartConnecting(const StreamEndpoint& endpoint) {
  const auto protocol = endpoint.protocol();
  error_code error;
  const int descriptor = OpenTcpSocket(protocol.family(), error);
  if (error) return Note(error);
  socket_.assign(protocol, descriptor, error);
  if (error) {
    close(descriptor);
    return Note(error);
  }
  connecting_ = true;
  socket_.async_connect(endpoint, [self = shared_from_this()](const error_code& result) {
    if (result == boost::asio::error::operation_aborted) return;
    self->connecting_ = false;
    self->connected_ = !result;
    self->Note(result);
  });
}

boost::system::result<size_t> PlainConnection::Send(std::string_view first,
                                                    std::string_view second) {
  std::array<iovec, 2> pieces{{{const_cast<char*>(first.data()), first.size()},
                               {const_cast<char*>(second.data()), second.size()}}};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  const ssize_t count = sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL);
  if (count >= 0) return static_cast<size_t>(count);
  if (IsTransient(errno)) return size_t{0};
  return ToErrorCode(errno);
}

void PlainConnection::StartWaitingForRoom() {
  if (std::exchange(waiting_for_room_, true)) return;
  socket_.async_wait(boost::asio::socket_base::wait_write,
                     [self = shared_from_this()](const error_code& error) {
                       if (error == boost::asio::error::operation_aborted) return;
                       self->waiting_for_room_ = false;
                       self->Note(error);
                     });
}

void PlainConnection::StartReading() {
  if (reading_ || received_) return;
  reading_ = true;
  socket_.async_read_some(boost::asio::buffer(buffer_),
                          [self = shared_from_this()](const error_code& error, size_t bytes) {
                            if (error == boost::asio::error::operation_aborted) return;
                            self->reading_ = false;
                            self->received_ = true;
                            self->received_bytes_ = bytes;
                            self->Note(error == boost::asio::error::eof ? error_code() : error);
                          });
}

std::string_view PlainConnection::TakeReceived() {
  received_ = false;
  last_read_bytes_ = std::exchange(received_bytes_, 0);
  return {buffer_.data(), last_read_bytes_};
}

size_t PlainConnection::ReadMore(char* buffer, size_t size) {
  if (last_read_bytes_ < kBufferBytes || reading_) return 0;
  const ssize_t count = recv(socket_.native_handle(), buffer, size, 0);
  // The next read reports the end of the stream and errors.
  return count > 0 ? static_cast<size_t>(count) : 0;
}

bool PlainConnection::IsQuiet() {
  char byte;
  const ssize_t count = recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count < 0 && IsTransient(errno);
}

void PlainConnection::Close() {
  error_code ignored;
  user_ = nullptr;
  socket_.close(ignored);
  connecting_ = connected_ = reading_ = waiting_for_room_ = received_ = false;
}

void PlainConnection::Note(const error_code& error) {
  if (error && !error_) error_ = error;
  if (user_ != nullptr) user_->OnChange();
}

}  // namespace agent_graph::net
