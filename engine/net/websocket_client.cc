// The only place that includes Boost.Beast, which takes long to compile.
#include "net/websocket_client.h"

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <deque>
#include <optional>

#include "runtime/runtime.h"

namespace agent_graph::net {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::seconds kCloseMax{3};

struct Target {
  bool tls = false;
  std::string host;
  std::string port;
  std::string path;
};

std::optional<Target> ParseUrl(std::string_view url) {
  Target target;
  if (url.starts_with("wss://")) {
    target.tls = true;
    url.remove_prefix(6);
  } else if (url.starts_with("ws://")) {
    url.remove_prefix(5);
  } else {
    return std::nullopt;
  }
  const size_t slash = url.find_first_of("/?");
  std::string_view authority = url.substr(0, slash);
  target.path = slash == std::string_view::npos ? "/" : url.substr(slash);
  if (target.path.starts_with('?')) target.path.insert(0, "/");
  const size_t bracket = authority.rfind(']');  // an IPv6 address
  const size_t colon = authority.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  target.port = has_port ? std::string(authority.substr(colon + 1)) : target.tls ? "443" : "80";
  if (has_port) authority = authority.substr(0, colon);
  if (authority.starts_with('[') && authority.ends_with(']')) {
    authority = authority.substr(1, authority.size() - 2);
  }
  target.host = authority;
  if (target.host.empty() || target.port.empty()) return std::nullopt;
  return target;
}

using PlainStream = websocket::stream<beast::tcp_stream>;
using TlsStream = websocket::stream<beast::ssl_stream<beast::tcp_stream>>;

// Lives while an operation of it is under way; tells nobody once it was let go.
template <typename Stream>
class Connection : public std::enable_shared_from_this<Connection<Stream>> {
 public:
  template <typename... Arguments>
  Connection(asio::io_context& loop, Target target, WebSocketOptions options,
             WebSocketHandler& handler, Arguments&... arguments)
      : target_(std::move(target)),
        options_(std::move(options)),
        handler_(&handler),
        resolver_(loop),
        stream_(loop, arguments...) {}

  void Start() {
    deadline().expires_after(options_.connect_timeout);
    resolver_.async_resolve(
        target_.host, target_.port,
        [self = this->shared_from_this()](error_code error, tcp::resolver::results_type addresses) {
          if (error) return self->End("no address: ", error);
          self->Connect(addresses);
        });
  }

  void Send(std::string text) {
    if (ended_) return;
    unsent_ += text.size();
    queue_.push_back(std::move(text));
    if (open_) Write();
  }

  size_t unsent_bytes() const { return unsent_; }

  void LetGo() {
    handler_ = nullptr;
    if (open_ && !ended_ && !writing_) {
      Close();
    } else if (!open_) {
      resolver_.cancel();
      beast::get_lowest_layer(stream_).close();
    }
  }

 private:
  beast::tcp_stream& deadline() { return beast::get_lowest_layer(stream_); }

  void Connect(const tcp::resolver::results_type& addresses) {
    if (handler_ == nullptr) return;
    deadline().expires_after(options_.connect_timeout);
    deadline().async_connect(
        addresses, [self = this->shared_from_this()](error_code error, const tcp::endpoint&) {
          if (error) return self->End("no connection: ", error);
          error_code ignored;
          self->deadline().socket().set_option(tcp::no_delay(true), ignored);
          self->Secure();
        });
  }

  void Secure() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      auto& tls = stream_.next_layer();
      SSL_set_tlsext_host_name(tls.native_handle(), target_.host.c_str());
      error_code ignored;
      tls.set_verify_callback(asio::ssl::host_name_verification(target_.host), ignored);
      deadline().expires_after(options_.connect_timeout);
      tls.async_handshake(asio::ssl::stream_base::client,
                          [self = this->shared_from_this()](error_code error) {
                            if (error) return self->End("no secure connection: ", error);
                            self->Handshake();
                          });
    } else {
      Handshake();
    }
  }

  void Handshake() {
    if (handler_ == nullptr) return;
    deadline().expires_never();  // from here on the WebSocket has its own timers
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
    const bool standard = target_.port == (target_.tls ? "443" : "80");
    stream_.async_handshake(response_, standard ? target_.host : target_.host + ":" + target_.port,
                            target_.path, [self = this->shared_from_this()](error_code error) {
                              if (error) return self->End("no WebSocket: ", error);
                              self->Open();
                            });
  }

  void Open() {
    open_ = true;
    if (handler_ == nullptr) return Close();
    // Beast ends a read only when the peer has closed the connection, too; some take their time.
    // Our own Close frame is on its way by the time the posted function runs.
    stream_.control_callback([this](websocket::frame_type kind, beast::string_view) {
      if (kind != websocket::frame_type::close) return;
      asio::post(stream_.get_executor(),
                 [self = this->shared_from_this()] { self->End("", websocket::error::closed); });
    });
    handler_->OnOpen();
    Read();
    Write();
  }

  void Read() {
    if (handler_ == nullptr || ended_) return;
    stream_.async_read(buffer_, [self = this->shared_from_this()](error_code error, std::size_t) {
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
                        [self = this->shared_from_this()](error_code error, std::size_t) {
                          self->writing_ = false;
                          if (error) return self->End("", error);
                          self->unsent_ -= self->queue_.front().size();
                          self->queue_.pop_front();
                          if (self->handler_ == nullptr) return self->Close();
                          self->handler_->OnSent();
                          self->Write();
                        });
  }

  // Nobody waits for the answer.
  void Close() {
    if (ended_) return;
    ended_ = true;
    auto timeout = websocket::stream_base::timeout{kCloseMax, kCloseMax, false};
    stream_.set_option(timeout);
    stream_.async_close(websocket::close_code::normal,
                        [self = this->shared_from_this()](error_code) {});
  }

  void End(const char* what, error_code error) {
    if (ended_) return;
    ended_ = true;
    WebSocketEnd end;
    if (error == websocket::error::upgrade_declined) {
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
      end.reason = what + error.message();
    }
    beast::get_lowest_layer(stream_).close();
    if (handler_ != nullptr) handler_->OnEnd(end);
  }

  const Target target_;
  const WebSocketOptions options_;
  WebSocketHandler* handler_;  // null once it was let go
  tcp::resolver resolver_;
  Stream stream_;
  websocket::response_type response_;
  beast::flat_buffer buffer_;
  std::deque<std::string> queue_;
  size_t unsent_ = 0;
  bool open_ = false;
  bool writing_ = false;
  bool ended_ = false;
};

template <typename Stream>
class Client final : public WebSocketClient {
 public:
  explicit Client(std::shared_ptr<Connection<Stream>> connection)
      : connection_(std::move(connection)) {
    connection_->Start();
  }
  ~Client() override { connection_->LetGo(); }

  void Send(std::string text) override { connection_->Send(std::move(text)); }
  size_t unsent_bytes() const override { return connection_->unsent_bytes(); }

 private:
  const std::shared_ptr<Connection<Stream>> connection_;
};

// For an address that cannot be used.
class NoClient final : public WebSocketClient {
 public:
  NoClient(asio::io_context& loop, WebSocketHandler& handler) {
    asio::post(loop, [alive = std::weak_ptr<int>(alive_), &handler] {
      if (alive.lock()) handler.OnEnd({0, 0, "the address is not a ws:// or wss:// URL"});
    });
  }
  void Send(std::string) override {}
  size_t unsent_bytes() const override { return 0; }

 private:
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace

struct WebSocketConnector::Implementation {
  // Shared by all engine threads: connections only read it.
  asio::ssl::context tls{asio::ssl::context::tls_client};
};

WebSocketConnector::WebSocketConnector(const Environment& environment)
    : implementation_(std::make_unique<Implementation>()) {
  asio::ssl::context& tls = implementation_->tls;
  error_code ignored;
  tls.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                      asio::ssl::context::no_tlsv1_1,
                  ignored);
  tls.set_verify_mode(asio::ssl::verify_peer, ignored);
  for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const auto file = environment.find(name);
    if (file == environment.end() || file->second.empty()) continue;
    tls.load_verify_file(file->second, ignored);
    return;
  }
  tls.set_default_verify_paths(ignored);
}

WebSocketConnector::~WebSocketConnector() = default;

std::unique_ptr<WebSocketClient> WebSocketConnector::Open(const WebSocketOptions& options,
                                                          WebSocketHandler& handler) const {
  asio::io_context& loop = *runtime::Runtime::CurrentLoop();
  const std::optional<Target> target = ParseUrl(options.url);
  if (!target) return std::make_unique<NoClient>(loop, handler);
  if (target->tls) {
    return std::make_unique<Client<TlsStream>>(std::make_shared<Connection<TlsStream>>(
        loop, *target, options, handler, implementation_->tls));
  }
  return std::make_unique<Client<PlainStream>>(
      std::make_shared<Connection<PlainStream>>(loop, *target, options, handler));
}

}  // namespace agent_graph::net
