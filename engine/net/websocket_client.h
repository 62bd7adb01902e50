// A WebSocket client for engine threads: text messages over ws:// and wss://.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/status.h"

namespace agent_graph::net {

struct WebSocketOptions {
  std::string url;  // ws:// or wss://
  std::vector<std::pair<std::string, std::string>> headers;
  std::chrono::milliseconds connect_timeout{
      10'000};  // of each: name, connection, proxy, TLS, handshake
  // A peer of which nothing is heard this long, no pong either, is gone; it is pinged after half.
  std::chrono::milliseconds silence_max{20'000};
  size_t message_bytes_max = 4 * 1024 * 1024;
  size_t unsent_bytes_max = 16 * 1024 * 1024;  // a peer that leaves more unread is gone
};

// Why a connection is over.
struct WebSocketEnd {
  int http_status = 0;  // of a handshake that was refused, else 0
  int close_code = 0;   // of the peer's Close, else 0
  std::string reason;   // for people
};

class WebSocketHandler {
 public:
  virtual void OnOpen() = 0;
  virtual void OnMessage(std::string text) = 0;
  virtual void OnSent() = 0;  // less waits to be sent
  virtual void OnEnd(const WebSocketEnd& end) = 0;

 protected:
  ~WebSocketHandler() = default;
};

// Belongs to the engine thread that made it. Destroying it closes the connection politely in the
// background; nothing is called afterwards.
class WebSocketClient {
 public:
  virtual ~WebSocketClient() = default;
  // Before OnOpen it waits; after the end it is ignored.
  virtual void Send(std::string text) = 0;
  // Nothing is sent any more; OnEnd tells when the peer has closed, too, or took too long. Messages
  // that are on their way meanwhile may come or may not.
  virtual void Leave() = 0;
  virtual size_t unsent_bytes() const = 0;
};

// What connections share; immutable, hence thread-safe.
class WebSocketConnector {
 public:
  // Certificates to trust: CURL_CA_BUNDLE or SSL_CERT_FILE of the environment, else the system's.
  // Proxies: those of the environment (proxies.h), as far as their address begins with http://.
  explicit WebSocketConnector(const Environment& environment);
  ~WebSocketConnector();

  // On an engine thread. Never fails: what goes wrong comes to OnEnd, later.
  std::unique_ptr<WebSocketClient> Open(const WebSocketOptions& options,
                                        WebSocketHandler& handler) const;

  struct Implementation;

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace agent_graph::net
