#include "net/socket_stream.h"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <utility>

#include "net/tls_contexts.h"

namespace agent_graph::net {

namespace asio = boost::asio;
namespace beast = boost::beast;

struct SocketStream::Tls {
  Tls(beast::tcp_stream& tcp, asio::ssl::context& context) : stream(tcp, context) {}

  beast::ssl_stream<beast::tcp_stream&> stream;
};

SocketStream::SocketStream(asio::io_context& loop) : tcp_(loop) {}
SocketStream::~SocketStream() = default;

void SocketStream::StartTls(asio::ssl::context& context, const std::string& host, Done done) {
  tls_ = std::make_unique<Tls>(tcp_, context);
  if (!ExpectServer(tls_->stream.native_handle(), host)) {
    return asio::post(tcp_.get_executor(),
                      [done = std::move(done)]() mutable { done(asio::error::no_memory); });
  }
  tls_->stream.async_handshake(asio::ssl::stream_base::client, std::move(done));
}

std::size_t SocketStream::ReadNow(asio::mutable_buffer buffer, boost::system::error_code& error) {
  return tls_ != nullptr ? tls_->stream.read_some(buffer, error) : tcp_.read_some(buffer, error);
}

std::string_view SocketStream::protocol() const {
  if (tls_ == nullptr) return {};
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(tls_->stream.native_handle(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

void SocketStream::Read(asio::mutable_buffer buffer, Transferred done) {
  if (tls_ != nullptr) return tls_->stream.async_read_some(buffer, std::move(done));
  tcp_.async_read_some(buffer, std::move(done));
}

void SocketStream::Write(const WriteBuffers& buffers, Transferred done) {
  if (tls_ != nullptr) return tls_->stream.async_write_some(buffers, std::move(done));
  tcp_.async_write_some(buffers, std::move(done));
}

void SocketStream::TearDown(beast::role_type role, Done done) {
  using beast::websocket::async_teardown;
  if (tls_ != nullptr) return async_teardown(role, tls_->stream, std::move(done));
  async_teardown(role, tcp_, std::move(done));
}

}  // namespace agent_graph::net
