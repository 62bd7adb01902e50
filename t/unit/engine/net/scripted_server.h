// A TCP server that sends exactly the bytes that a test chooses, for replies that correct servers
// never send.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace agent_graph::testing {

// `bytes` as a chunk of a chunked body.
inline std::string Chunk(std::string_view bytes) {
  char size[32];
  const int length = std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return std::string(size, static_cast<size_t>(length)) + std::string(bytes) + "\r\n";
}

// One accepted connection with its own thread; closed when the script returns.
class Connection {
 public:
  explicit Connection(int descriptor) : descriptor_(descriptor) {}

  // The next request with its body, unparsed; nullopt if the peer has closed.
  std::optional<std::string> ReadRequest() {
    std::string request;
    for (;;) {
      const size_t head_end = request.find("\r\n\r\n");
      if (head_end != std::string::npos &&
          request.size() >= head_end + 4 + ContentLength(request.substr(0, head_end))) {
        return request;
      }
      char buffer[4096];
      const ssize_t count = recv(descriptor_, buffer, sizeof buffer, 0);
      if (count <= 0) return std::nullopt;
      request.append(buffer, static_cast<size_t>(count));
    }
  }

  // False if the peer has disconnected.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }

  // Reads at most one buffer; returns the number of bytes, 0 if the peer has closed.
  size_t Read() {
    char buffer[4096];
    const ssize_t count = recv(descriptor_, buffer, sizeof buffer, 0);
    return count < 0 ? 0 : static_cast<size_t>(count);
  }

  // Sends the bytes and the end of the stream in one packet, so that the peer receives both
  // together.
  void SendAndEnd(std::string_view bytes) {
    static_cast<void>(send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_MORE));
    shutdown(descriptor_, SHUT_WR);
  }

  bool SendChunk(std::string_view bytes) { return Send(Chunk(bytes)); }

  int descriptor() const { return descriptor_; }

  // When the script returns, the connection is reset instead of closed.
  void ResetAtEnd() {
    const linger now{1, 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }

  // Call from any thread: ends waits for the peer.
  void Shutdown() { shutdown(descriptor_, SHUT_RDWR); }

  void WaitUntilPeerCloses() {
    char buffer[4096];
    while (recv(descriptor_, buffer, sizeof buffer, 0) > 0) {
    }
  }
  // True if the peer closes within this time. It must not send anything.
  bool WaitUntilPeerClosesFor(int milliseconds) const {
    pollfd peer{descriptor_, POLLIN, 0};
    return poll(&peer, 1, milliseconds) > 0;
  }

 private:
  static size_t ContentLength(std::string_view head) {
    const size_t at = head.find("Content-Length: ");
    return at == std::string_view::npos ? 0 : std::stoul(std::string(head.substr(at + 16, 12)));
  }

  const int descriptor_;
};

class ScriptedServer {
 public:
  using Script = std::function<void(Connection&)>;

  // Runs `script` for each connection.
  explicit ScriptedServer(Script script) : script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        listen(listener_, 128) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }

  ~ScriptedServer() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
    {
      std::lock_guard lock(mutex_);
      for (int descriptor : open_) shutdown(descriptor, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  int port() const { return port_; }
  std::string url(const std::string& path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  int connections() const { return connections_; }

 private:
  void Accept() {
    for (;;) {
      const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (descriptor < 0) return;
      ++connections_;
      std::lock_guard lock(mutex_);
      open_.push_back(descriptor);
      threads_.emplace_back([this, descriptor] {
        Connection connection(descriptor);
        script_(connection);
        std::lock_guard closing(mutex_);
        std::erase(open_, descriptor);
        close(descriptor);
      });
    }
  }

  const Script script_;
  int listener_ = -1;
  int port_ = 0;
  std::thread acceptor_;
  std::atomic<int> connections_{0};
  std::mutex mutex_;
  std::vector<int> open_;             // guarded by mutex_
  std::vector<std::thread> threads_;  // used by the acceptor until it has ended
};

// A local port on which nothing listens. It is bound until the program exits, so that no other
// program, and no outgoing connection, gets it meanwhile.
inline int ClosedPort() {
  static const int port = [] {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    const int reservation = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(reservation, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        getsockname(reservation, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      std::abort();
    }
    return static_cast<int>(ntohs(address.sin_port));
  }();
  return port;
}

}  // namespace agent_graph::testing
