// A TCP connection with optional TLS: the stream below Boost.Beast's WebSocket.
//
// Beast and Asio's TLS are templates over the types of buffers and handlers, and slow to compile.
// This class hides both types, so that Beast is compiled for one stream and knows no TLS.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/container/static_vector.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace agent_graph::net {

// A completion handler of any type. It is called once.
template <typename... Arguments>
class CompletionHandler {
 public:
  template <typename Handler>
  static CompletionHandler Of(Handler&& handler) {
    return CompletionHandler(
        std::make_unique<Holder<std::decay_t<Handler>>>(std::forward<Handler>(handler)));
  }

  void operator()(Arguments... arguments) {
    const std::unique_ptr<Base> target = std::move(target_);
    target->Call(arguments...);
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual void Call(Arguments... arguments) = 0;
  };
  template <typename Handler>
  struct Holder final : Base {
    explicit Holder(Handler&& value) : handler(std::move(value)) {}
    void Call(Arguments... arguments) override { handler(arguments...); }
    Handler handler;
  };

  explicit CompletionHandler(std::unique_ptr<Base> target) : target_(std::move(target)) {}

  std::unique_ptr<Base> target_;
};

// Belongs to the thread of its loop. Has the functions of Asio's AsyncStream, hence their names.
class SocketStream {
 public:
  using next_layer_type = boost::beast::tcp_stream;
  using executor_type = next_layer_type::executor_type;
  using Done = CompletionHandler<boost::system::error_code>;
  using Transferred = CompletionHandler<boost::system::error_code, std::size_t>;

  explicit SocketStream(boost::asio::io_context& loop);
  ~SocketStream();

  // Connecting, deadlines and closing are its affair.
  next_layer_type& next_layer() noexcept { return tcp_; }
  const next_layer_type& next_layer() const noexcept { return tcp_; }
  executor_type get_executor() noexcept { return tcp_.get_executor(); }

  // Makes the TLS handshake as a client. The server's certificate must be valid for `host`.
  // Everything that is read and written afterwards is encrypted.
  void StartTls(boost::asio::ssl::context& context, const std::string& host, Done done);

  // Reads what is there without waiting, between two async_read_some, on a socket that was made
  // non-blocking. Must not be called while something is being written: TLS may have to answer.
  std::size_t ReadNow(boost::asio::mutable_buffer buffer, boost::system::error_code& error);

  // The protocol that the server has chosen in the TLS handshake (ALPN); empty: none.
  std::string_view protocol() const;

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    boost::asio::mutable_buffer first;
    for (auto at = boost::asio::buffer_sequence_begin(buffers);
         first.size() == 0 && at != boost::asio::buffer_sequence_end(buffers); ++at) {
      first = *at;
    }
    Read(first, Transferred::Of(std::forward<Handler>(handler)));
  }

  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    WriteBuffers some;
    for (auto at = boost::asio::buffer_sequence_begin(buffers);
         some.size() < some.capacity() && at != boost::asio::buffer_sequence_end(buffers); ++at) {
      const boost::asio::const_buffer buffer = *at;
      if (buffer.size() > 0) some.push_back(buffer);
    }
    Write(some, Transferred::Of(std::forward<Handler>(handler)));
  }

  // Beast calls it when the WebSocket has closed.
  template <typename Handler>
  friend void async_teardown(boost::beast::role_type role, SocketStream& stream,
                             Handler&& handler) {
    stream.TearDown(role, Done::Of(std::forward<Handler>(handler)));
  }

 private:
  // A frame has a header and a payload, a handshake a few more pieces. A write may take fewer.
  using WriteBuffers = boost::container::static_vector<boost::asio::const_buffer, 8>;
  struct Tls;

  void Read(boost::asio::mutable_buffer buffer, Transferred done);
  void Write(const WriteBuffers& buffers, Transferred done);
  void TearDown(boost::beast::role_type role, Done done);

  boost::beast::tcp_stream tcp_;
  std::unique_ptr<Tls> tls_;  // null: not encrypted
};

}  // namespace agent_graph::net
