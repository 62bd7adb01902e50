// The only file that includes Boost.Beast's WebSocket, which is slow to compile.
#include "net/websocket_client.h"

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <deque>
#include <optional>

#include "net/proxies.h"
#include "net/socket_opener.h"
#include "net/socket_stream.h"
#include "net/url.h"
#include "runtime/runtime.h"

namespace agent_graph::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using boost::system::error_code;

constexpr std::chrono::seconds kCloseMax{3};

// Stays alive while one of its operations is in progress. Calls no handler after it was released.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(asio::io_context& loop, SocketRoute route, WebSocketOptions options,
             WebSocketHandler& handler)
      : target_(route.target),
        options_(std::move(options)),
        handler_(&handler),
        give_up_(loop),
        stream_(loop),
        opener_(loop, stream_.next_layer(), std::move(route)) {}

  void Start() {
    opener_.Start(
        shared_from_this(), options_.connect_timeout,
        [this](const char* what, error_code error) { error ? End(what, error) : Handshake(); });
  }

  void Send(std::string text) {
    if (ended_ || leaving_) return;
    if (unsent_ + text.size() > options_.unsent_bytes_max) {
      return asio::post(stream_.get_executor(), [self = shared_from_this()] {
        self->End("the peer does not read", error_code());
      });
    }
    unsent_ += text.size();
    queue_.push_back(std::move(text));
    if (open_) Write();
  }

  size_t unsent_bytes() const { return unsent_; }

  // Queued messages are dropped.
  void Leave() {
    if (ended_ || std::exchange(leaving_, true)) return;
    GiveUpAfter(2 * kCloseMax);
    if (open_ && !writing_) Close();
  }

  void LetGo() {
    handler_ = nullptr;
    if (ended_) return;
    if (open_) return Leave();
    opener_.Cancel();
    beast::get_lowest_layer(stream_).close();
  }

 private:
  // Ends the connection after `time`, whatever the peer does.
  void GiveUpAfter(std::chrono::milliseconds time) {
    give_up_.expires_after(time);
    give_up_.async_wait([self = weak_from_this()](error_code error) {
      const auto connection = self.lock();
      if (!error && connection) connection->End("", beast::error::timeout);
    });
  }

  void Handshake() {
    if (handler_ == nullptr) return;
    websocket::stream_base::timeout timeout{};
    timeout.handshake_timeout = options_.connect_timeout;
    timeout.idle_timeout = options_.silence_max;
    timeout.keep_alive_pings = true;
    stream_.set_option(timeout);
    stream_.set_option(
        websocket::stream_base::decorator([headers = options_.headers](websocket::request_type& r) {
          for (const auto& [name, value] : headers) r.set(name, value);
        }));
    stream_.read_message_max(options_.message_bytes_max);
    stream_.auto_fragment(false);
    stream_.async_handshake(response_, HostHeader(target_), target_.path,
                            [self = shared_from_this()](error_code error) {
                              if (error) return self->End("no WebSocket: ", error);
                              self->Open();
                            });
  }

  void Open() {
    open_ = true;
    if (handler_ == nullptr || leaving_) return Close();
    // Beast ends a read only after the peer has closed the connection as well, which some peers do
    // late. Our own Close frame is already being sent when the posted function runs.
    stream_.control_callback([this](websocket::frame_type kind, beast::string_view) {
      if (kind != websocket::frame_type::close) return;
      asio::post(stream_.get_executor(),
                 [self = shared_from_this()] { self->End("", websocket::error::closed); });
    });
    handler_->OnOpen();
    Read();
    Write();
  }

  void Read() {
    if (ended_) return;
    stream_.async_read(buffer_, [self = shared_from_this()](error_code error, std::size_t) {
      if (error) return self->End("", error);
      std::string message = beast::buffers_to_string(self->buffer_.data());
      self->buffer_.consume(self->buffer_.size());
      if (self->handler_ != nullptr) self->handler_->OnMessage(std::move(message));
      self->Read();
    });
  }

  void Write() {
    if (writing_ || queue_.empty() || ended_) return;
    writing_ = true;
    stream_.text(true);
    stream_.async_write(asio::buffer(queue_.front()),
                        [self = shared_from_this()](error_code error, std::size_t) {
                          self->writing_ = false;
                          if (error) return self->End("", error);
                          if (self->ended_) return;  // by the peer's Close, before the last piece
                          self->unsent_ -= self->queue_.front().size();
                          self->queue_.pop_front();
                          if (self->leaving_) return self->Close();
                          self->handler_->OnSent();
                          self->Write();
                        });
  }

  void Close() {
    if (ended_) return;
    const websocket::stream_base::timeout timeout{kCloseMax, kCloseMax, false};
    stream_.set_option(timeout);
    stream_.async_close(websocket::close_code::normal,
                        [self = shared_from_this()](error_code error) {
                          self->End("", error ? error : error_code(websocket::error::closed));
                        });
  }

  void End(const char* what, error_code error) {
    if (ended_) return;
    ended_ = true;
    give_up_.cancel();
    opener_.Cancel();
    WebSocketEnd end;
    if (opener_.refused_by_proxy() != 0) {
      end.reason = "the proxy refused: HTTP " + std::to_string(opener_.refused_by_proxy());
    } else if (error == websocket::error::upgrade_declined) {
      end.http_status = static_cast<int>(response_.result_int());
      end.reason = "HTTP " + std::to_string(end.http_status);
    } else if (error == websocket::error::closed) {
      end.close_code = stream_.reason().code;
      end.reason = "closed with " + std::to_string(end.close_code);
      if (!stream_.reason().reason.empty()) {
        end.reason += ": " + std::string(stream_.reason().reason.c_str());
      }
    } else if (error == beast::error::timeout) {
      end.reason = open_ ? "the peer is silent" : "the peer did not answer in time";
    } else {
      end.reason = what + (error ? error.message() : "");
    }
    beast::get_lowest_layer(stream_).close();
    if (handler_ != nullptr) handler_->OnEnd(end);
  }

  const Url target_;
  const WebSocketOptions options_;
  WebSocketHandler* handler_;  // null after it was released
  asio::steady_timer give_up_;
  // Without permessage-deflate, which no provider needs.
  websocket::stream<SocketStream, false> stream_;
  SocketOpener opener_;
  websocket::response_type response_;
  beast::flat_buffer buffer_;
  std::deque<std::string> queue_;
  size_t unsent_ = 0;
  bool open_ = false;
  bool writing_ = false;
  bool leaving_ = false;
  bool ended_ = false;
};

class Client final : public WebSocketClient {
 public:
  explicit Client(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {
    connection_->Start();
  }
  ~Client() override { connection_->LetGo(); }

  void Send(std::string text) override { connection_->Send(std::move(text)); }
  void Leave() override { connection_->Leave(); }
  size_t unsent_bytes() const override { return connection_->unsent_bytes(); }

 private:
  const std::shared_ptr<Connection> connection_;
};

// Returned for an address that cannot be used.
class NoClient final : public WebSocketClient {
 public:
  NoClient(asio::io_context& loop, WebSocketHandler& handler, const char* reason) {
    asio::post(loop, [alive = std::weak_ptr<int>(alive_), &handler, reason] {
      if (alive.lock()) handler.OnEnd({0, 0, reason});
    });
  }
  void Send(std::string) override {}
  void Leave() override {}
  size_t unsent_bytes() const override { return 0; }

 private:
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace

struct WebSocketConnector::Implementation {
  explicit Implementation(const Environment& environment) : proxies(environment) {}

  const Proxies proxies;
  // Shared by all engine threads: connections only read it.
  asio::ssl::context tls{asio::ssl::context::tls_client};
};

WebSocketConnector::WebSocketConnector(const Environment& environment)
    : implementation_(std::make_unique<Implementation>(environment)) {
  asio::ssl::context& tls = implementation_->tls;
  error_code ignored;
  tls.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                      asio::ssl::context::no_tlsv1_1,
                  ignored);
  tls.set_verify_mode(asio::ssl::verify_peer, ignored);
  if (const std::string file = FirstOf(environment, {"CURL_CA_BUNDLE", "SSL_CERT_FILE"});
      !file.empty()) {
    tls.load_verify_file(file, ignored);
    return;
  }
  tls.set_default_verify_paths(ignored);
}

WebSocketConnector::~WebSocketConnector() = default;

std::unique_ptr<WebSocketClient> WebSocketConnector::Open(const WebSocketOptions& options,
                                                          WebSocketHandler& handler) const {
  asio::io_context& loop = *runtime::Runtime::CurrentLoop();
  const std::optional<Url> target = ParseUrl(options.url);
  if (!target || (target->scheme != "ws" && target->scheme != "wss")) {
    return std::make_unique<NoClient>(loop, handler, "the address is not a ws:// or wss:// URL");
  }
  SocketRoute route{.target = *target};
  if (const std::string proxy = implementation_->proxies.For(options.url); !proxy.empty()) {
    route.proxy = ParseUrl(proxy);
    if (!route.proxy || route.proxy->scheme != "http") {
      return std::make_unique<NoClient>(loop, handler, "the proxy is not an http:// one");
    }
  }
  if (target->scheme == "wss") route.tls = &implementation_->tls;
  return std::make_unique<Client>(
      std::make_shared<Connection>(loop, std::move(route), options, handler));
}

}  // namespace agent_graph::net
