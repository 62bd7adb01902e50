// Puts TLS in front of a server of a test, so that a test of plain connections runs over TLS, too.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "tls_server.h"

namespace agent_graph::testing {

// Connects to 127.0.0.1:`port` when the client sends its first bytes, so that the server does not
// see the connection on which the client only asks for HTTP/2. If the server closes a connection,
// the session is ended as well; if it resets one, the session is cut off.
class TlsRelay {
 public:
  explicit TlsRelay(int port) : server_("http/1.1", [port](SSL* tls) { Relay(tls, port); }) {}

  std::string url(const std::string& path) const { return server_.url(path); }

 private:
  static constexpr size_t kBufferBytes = 4096;

  static void Relay(SSL* tls, int port) {
    char byte;
    if (SSL_peek(tls, &byte, 1) <= 0) return;
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    if (connect(server, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      while (RelaySome(tls, server)) {
      }
    }
    close(server);
  }

  static bool RelaySome(SSL* tls, int server) {
    pollfd sockets[] = {{SSL_get_fd(tls), POLLIN, 0}, {server, POLLIN, 0}};
    if (SSL_has_pending(tls) == 0 && poll(sockets, 2, -1) < 0) return false;
    char buffer[kBufferBytes];
    if (SSL_has_pending(tls) == 1 || sockets[0].revents != 0) {
      const int size = SSL_read(tls, buffer, sizeof buffer);
      if (size <= 0) return false;
      return send(server, buffer, static_cast<size_t>(size), MSG_NOSIGNAL) == size;
    }
    const ssize_t size = recv(server, buffer, sizeof buffer, 0);
    if (size < 0) SSL_set_quiet_shutdown(tls, 1);
    return size > 0 && SSL_write(tls, buffer, static_cast<int>(size)) == size;
  }

  TlsServer server_;
};

}  // namespace agent_graph::testing
