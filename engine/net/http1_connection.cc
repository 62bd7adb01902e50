#include "net/http1_connection.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <system_error>
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
      may_read_ = tls_->MayReadNow();  // what came with the end of the handshake
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

void Http1Connection::StartWaitingForBytes() {
  if (std::exchange(waiting_for_bytes_, true)) return;
  if (!may_read_) return WaitThen(Outcome::kWaitsToRead, &Http1Connection::OnReadable);
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->socket_.is_open()) self->OnReadable();
  });
}

void Http1Connection::OnReadable() {
  waiting_for_bytes_ = false;
  may_read_ = true;
  Note(Status::Ok());
}

std::optional<size_t> Http1Connection::Read(char* buffer, size_t size) {
  if (tls_ != nullptr) return ReadTls(buffer, size);
  const ssize_t count = recv(socket_.native_handle(), buffer, size, 0);
  may_read_ = count == static_cast<ssize_t>(size);
  if (count >= 0) return static_cast<size_t>(count);
  if (IsTransient(errno)) return std::nullopt;
  SetFailure(StatusOf(HttpFailure::kClosed).WithDetail(std::generic_category().message(errno)));
  return 0;
}

std::optional<size_t> Http1Connection::ReadTls(char* buffer, size_t size) {
  size_t bytes = 0;
  const Outcome outcome = tls_->Read(buffer, size, bytes);
  may_read_ = outcome == Outcome::kDone && tls_->MayReadNow();
  if (outcome == Outcome::kWaitsToRead || outcome == Outcome::kWaitsToWrite) return std::nullopt;
  if (outcome == Outcome::kFailed) {
    SetFailure(StatusOf(HttpFailure::kClosed).WithDetail(tls_->failure()));
  }
  return bytes;
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
  connecting_ = connected_ = waiting_for_bytes_ = waiting_for_room_ = may_read_ = false;
}

void Http1Connection::Note(Status failure) {
  SetFailure(std::move(failure));
  if (user_ != nullptr) user_->OnChange();
}

void Http1Connection::SetFailure(Status failure) {
  if (failure_.ok()) failure_ = std::move(failure);
}

}  // namespace agent_graph::net
