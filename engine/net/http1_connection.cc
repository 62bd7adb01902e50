#include "net/http1_connection.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <utility>

#include "net/http_failure.h"
#include "net/open_socket.h"

namespace agent_graph::net {

using boost::asio::socket_base;
using boost::system::error_code;
using Outcome = TlsSession::Outcome;

namespace {

bool IsTransient(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

Status ToStatus(HttpFailure failure, const error_code& error) {
  return error ? StatusOf(failure).WithDetail(error.message()) : Status::Ok();
}

}  // namespace

void Http1Connection::StartConnecting(const StreamEndpoint& endpoint) {
  const auto protocol = endpoint.protocol();
  error_code error;
  const int descriptor = OpenTcpSocket(protocol.family(), error);
  if (error) return Note(ToStatus(HttpFailure::kConnect, error));
  socket_.assign(protocol, descriptor, error);
  if (error) {
    close(descriptor);
    return Note(ToStatus(HttpFailure::kConnect, error));
  }
  connecting_ = true;
  socket_.async_connect(endpoint, [self = shared_from_this()](const error_code& result) {
    if (self->socket_.is_open()) self->OnReached(result);
  });
}

void Http1Connection::OnReached(const error_code& error) {
  if (error || context_ == nullptr) return EndConnecting(ToStatus(HttpFailure::kConnect, error));
  tls_ = std::make_unique<TlsSession>(*context_, host_, socket_.native_handle());
  ContinueHandshake();
}

void Http1Connection::ContinueHandshake() {
  const Outcome outcome = tls_->Handshake();
  switch (outcome) {
    case Outcome::kDone:
      return EndConnecting(Status::Ok());
    case Outcome::kWaitsToRead:
    case Outcome::kWaitsToWrite:
      return WaitThen(outcome, &Http1Connection::ContinueHandshake);
    default:
      return EndConnecting(
          StatusOf(tls_->refused_certificate() ? HttpFailure::kCertificate : HttpFailure::kTls)
              .WithDetail(tls_->failure()));
  }
}

void Http1Connection::EndConnecting(Status failure) {
  connecting_ = false;
  connected_ = failure.ok();
  Note(std::move(failure));
}

void Http1Connection::WaitThen(Outcome reason, void (Http1Connection::*next)()) {
  const auto direction =
      reason == Outcome::kWaitsToRead ? socket_base::wait_read : socket_base::wait_write;
  socket_.async_wait(direction, [self = shared_from_this(), next](const error_code&) {
    if (self->socket_.is_open()) (self.get()->*next)();
  });
}

std::optional<size_t> Http1Connection::Send(std::string_view first, std::string_view second) {
  if (tls_ != nullptr) {
    size_t bytes = 0;
    const Outcome outcome = tls_->Write(first, second, bytes);
    if (outcome == Outcome::kDone) return bytes;
    if (outcome == Outcome::kWaitsToWrite) return 0;
    return std::nullopt;
  }
  std::array<iovec, 2> pieces{{{const_cast<char*>(first.data()), first.size()},
                               {const_cast<char*>(second.data()), second.size()}}};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  const ssize_t count = sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL);
  if (count >= 0) return static_cast<size_t>(count);
  if (IsTransient(errno)) return 0;
  return std::nullopt;
}

void Http1Connection::StartWaitingForRoom() {
  if (std::exchange(waiting_for_room_, true)) return;
  socket_.async_wait(socket_base::wait_write, [self = shared_from_this()](const error_code& error) {
    if (error == boost::asio::error::operation_aborted) return;
    self->waiting_for_room_ = false;
    self->Note(ToStatus(HttpFailure::kClosed, error));
  });
}

void Http1Connection::StartReading() {
  if (reading_ || received_) return;
  reading_ = true;
  if (tls_ != nullptr) return StartReadingTls();
  socket_.async_read_some(boost::asio::buffer(buffer_), [self = shared_from_this()](
                                                            const error_code& error, size_t bytes) {
    if (error == boost::asio::error::operation_aborted) return;
    const bool failed = error && error != boost::asio::error::eof;
    self->EndReading(bytes, failed ? ToStatus(HttpFailure::kClosed, error) : Status::Ok());
  });
}

void Http1Connection::StartReadingTls() {
  if (!tls_->MayReadNow()) {
    return WaitThen(Outcome::kWaitsToRead, &Http1Connection::ContinueReadingTls);
  }
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->socket_.is_open()) self->ContinueReadingTls();
  });
}

void Http1Connection::ContinueReadingTls() {
  size_t bytes = 0;
  const Outcome outcome = tls_->Read(buffer_.data(), buffer_.size(), bytes);
  switch (outcome) {
    case Outcome::kWaitsToRead:
    case Outcome::kWaitsToWrite:
      return WaitThen(outcome, &Http1Connection::ContinueReadingTls);
    case Outcome::kFailed:
      return EndReading(0, StatusOf(HttpFailure::kClosed).WithDetail(tls_->failure()));
    default:
      return EndReading(bytes, Status::Ok());
  }
}

void Http1Connection::EndReading(size_t bytes, Status failure) {
  reading_ = false;
  received_ = true;
  received_bytes_ = bytes;
  Note(std::move(failure));
}

std::string_view Http1Connection::TakeReceived() {
  received_ = false;
  last_read_bytes_ = std::exchange(received_bytes_, 0);
  return {buffer_.data(), last_read_bytes_};
}

size_t Http1Connection::ReadMore(char* buffer, size_t size) {
  if (reading_) return 0;
  // In both cases the next read reports the end of the stream and errors.
  if (tls_ != nullptr) {
    size_t bytes = 0;
    if (!tls_->MayReadNow() || tls_->Read(buffer, size, bytes) != Outcome::kDone) return 0;
    return bytes;
  }
  if (last_read_bytes_ < kBufferBytes) return 0;
  const ssize_t count = recv(socket_.native_handle(), buffer, size, 0);
  return count > 0 ? static_cast<size_t>(count) : 0;
}

bool Http1Connection::IsQuiet() {
  if (tls_ != nullptr) return tls_->IsQuiet();
  char byte;
  const ssize_t count = recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count < 0 && IsTransient(errno);
}

void Http1Connection::Close() {
  error_code ignored;
  user_ = nullptr;
  if (tls_ != nullptr) tls_->End();
  socket_.close(ignored);
  connecting_ = connected_ = reading_ = waiting_for_room_ = received_ = false;
}

void Http1Connection::Note(Status failure) {
  if (!failure.ok() && failure_.ok()) failure_ = std::move(failure);
  if (user_ != nullptr) user_->OnChange();
}

}  // namespace agent_graph::net
