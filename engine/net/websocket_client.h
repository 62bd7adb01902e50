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
  // For DNS, connect, proxy and TLS together, and the same time again for the handshake.
  std::chrono::milliseconds connect_timeout{10'000};
  // A peer that sends nothing for this long, not even a pong, counts as gone. It is pinged after
  // half of the time.
  std::chrono::milliseconds silence_max{20'000};
  size_t message_bytes_max = 4 * 1024 * 1024;
  size_t unsent_bytes_max = 16 * 1024 * 1024;  // beyond it the peer counts as gone
};

// Why a connection ended.
struct WebSocketEnd {
  int http_status = 0;  // status of a refused handshake, else 0
  int close_code = 0;   // from the peer's Close frame, else 0
  std::string reason;   // human-readable
};

// Callbacks of one connection, on its engine thread. They must not block.
class WebSocketHandler {
 public:
  virtual void OnOpen() = 0;
  virtual void OnMessage(std::string text) = 0;
  virtual void OnSent() = 0;  // the number of unsent bytes has decreased
  virtual void OnEnd(const WebSocketEnd& end) = 0;

 protected:
  ~WebSocketHandler() = default;
};

// Belongs to the engine thread that created it. Destroying it closes the connection with a closing
// handshake in the background; after that no callback is called.
class WebSocketClient {
 public:
  virtual ~WebSocketClient() = default;
  // Queues a message; before OnOpen it waits in the queue. Ignored after the end.
  virtual void Send(std::string text) = 0;
  // Starts the closing handshake; nothing more is sent. OnEnd is called when the peer has closed,
  // too, or has taken too long. Messages that arrive meanwhile may or may not be delivered.
  virtual void Leave() = 0;
  virtual size_t unsent_bytes() const = 0;
};

// Settings that connections share. Immutable, so it is thread-safe.
class WebSocketConnector {
 public:
  // Trusted certificates: CURL_CA_BUNDLE or SSL_CERT_FILE of the environment, else the system's.
  // Proxies: those of the environment (proxies.h) whose address begins with http://.
  explicit WebSocketConnector(const Environment& environment);
  ~WebSocketConnector();

  // Call it on an engine thread. Never fails: errors are reported later, through OnEnd.
  std::unique_ptr<WebSocketClient> Open(const WebSocketOptions& options,
                                        WebSocketHandler& handler) const;

  struct Implementation;

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace agent_graph::net
