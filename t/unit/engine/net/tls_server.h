// A server of TLS that agrees on one protocol. A script gets the connection when the handshake is
// made.
#pragma once

#include <netinet/tcp.h>
#include <openssl/ssl.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "scripted_server.h"
#include "test_certificate.h"

namespace agent_graph::testing {

class TlsServer {
 public:
  using Script = std::function<void(SSL*)>;

  // When a script returns, the session is ended, and the connection closed. `version_max` is 0 for
  // the newest version of TLS. `greeting` is sent in one packet with the end of the handshake; this
  // takes TLS 1.2.
  TlsServer(const std::string& protocol, Script script, int version_max = 0,
            std::string greeting = {})
      : protocol_(static_cast<char>(protocol.size()) + protocol),
        script_(std::move(script)),
        greeting_(std::move(greeting)),
        tls_(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free),
        server_([this](Connection& connection) { Serve(connection); }) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes also when the client has gone
    CertificateOfTests().Use(tls_.get());
    SSL_CTX_set_max_proto_version(tls_.get(), version_max);
    SSL_CTX_set_alpn_select_cb(tls_.get(), &Choose, this);
    SSL_CTX_set_tlsext_servername_callback(tls_.get(), &NoteName);
    SSL_CTX_set_tlsext_servername_arg(tls_.get(), this);
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  static const std::string& ca_file() { return CertificateOfTests().file(); }
  std::string url(const std::string& path = "/") const {
    return "https://127.0.0.1:" + std::to_string(server_.port()) + path;
  }
  int port() const { return server_.port(); }
  // Connections on which the protocol was agreed.
  int connections() const { return connections_; }
  // The name of the server that each client has sent (SNI); empty if the client has sent none.
  std::vector<std::string> names() {
    std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  static int Choose(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void* self) {
    const std::string& ours = static_cast<TlsServer*>(self)->protocol_;
    unsigned char* found = nullptr;
    const int result =
        SSL_select_next_proto(&found, size, reinterpret_cast<const unsigned char*>(ours.data()),
                              static_cast<unsigned int>(ours.size()), offered, offered_size);
    *chosen = found;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
  }

  static int NoteName(SSL* tls, int*, void* self) {
    const char* const name = SSL_get_servername(tls, TLSEXT_NAMETYPE_host_name);
    auto& server = *static_cast<TlsServer*>(self);
    std::lock_guard lock(server.mutex_);
    server.names_.emplace_back(name == nullptr ? "" : name);
    return SSL_TLSEXT_ERR_OK;
  }

  void Serve(Connection& connection) {
    const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(tls_.get()), &SSL_free);
    const int at_once = 1;
    setsockopt(connection.descriptor(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    SSL_set_fd(tls.get(), connection.descriptor());
    const int corked = greeting_.empty() ? 0 : 1;
    setsockopt(connection.descriptor(), IPPROTO_TCP, TCP_CORK, &corked, sizeof corked);
    if (SSL_accept(tls.get()) != 1) return;
    ++connections_;
    if (!greeting_.empty()) {
      SSL_write(tls.get(), greeting_.data(), static_cast<int>(greeting_.size()));
      const int sent = 0;
      setsockopt(connection.descriptor(), IPPROTO_TCP, TCP_CORK, &sent, sizeof sent);
    }
    script_(tls.get());
    SSL_shutdown(tls.get());
  }

  const std::string protocol_;  // with its length before it
  const Script script_;
  const std::string greeting_;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> tls_;
  std::atomic<int> connections_ = 0;
  std::mutex mutex_;
  std::vector<std::string> names_;  // guarded by mutex_
  ScriptedServer server_;           // the last member: its threads use the others
};

class Http2TlsServer : public TlsServer {
 public:
  explicit Http2TlsServer(Script script) : TlsServer("h2", std::move(script)) {}
};

}  // namespace agent_graph::testing
