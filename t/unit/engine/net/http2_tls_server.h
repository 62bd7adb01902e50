// A server of TLS that agrees on HTTP/2, with a certificate of its own. A script gets the
// connection when the handshake is made.
#pragma once

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "scripted_server.h"

namespace agent_graph::testing {

// A self-signed certificate for 127.0.0.1, in a file that exists as long as this object.
class TestCertificate {
 public:
  TestCertificate() : key_(EVP_EC_gen("P-256")), certificate_(X509_new()) {
    ASN1_INTEGER_set(X509_get_serialNumber(certificate_), 1);
    X509_set_version(certificate_, X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(certificate_), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate_), 3600);
    X509_set_pubkey(certificate_, key_);
    X509_NAME* const name = X509_get_subject_name(certificate_);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(certificate_, name);
    X509_EXTENSION* const names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
    X509_add_ext(certificate_, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate_, key_, EVP_sha256());
    std::FILE* const out = fdopen(mkstemp(file_.data()), "w");
    PEM_write_X509(out, certificate_);
    std::fclose(out);
  }
  ~TestCertificate() {
    unlink(file_.c_str());
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;

  const std::string& file() const { return file_; }
  void Use(SSL_CTX* tls) const {
    SSL_CTX_use_certificate(tls, certificate_);
    SSL_CTX_use_PrivateKey(tls, key_);
  }

 private:
  EVP_PKEY* const key_;
  X509* const certificate_;
  std::string file_ = ::testing::TempDir() + "certificate-XXXXXX";
};

class Http2TlsServer {
 public:
  using Script = std::function<void(SSL*)>;

  explicit Http2TlsServer(Script script)
      : script_(std::move(script)),
        tls_(SSL_CTX_new(TLS_server_method())),
        server_([this](Connection& connection) { Serve(connection); }) {}
  ~Http2TlsServer() { SSL_CTX_free(tls_); }

  const std::string& ca_file() const { return certificate_.file(); }
  std::string url(const std::string& path = "/") const {
    return "https://127.0.0.1:" + std::to_string(server_.port()) + path;
  }
  int port() const { return server_.port(); }
  // Connections on which HTTP/2 was agreed.
  int connections() const { return connections_; }

 private:
  static int Choose(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
    unsigned char* found = nullptr;
    const auto* const ours = reinterpret_cast<const unsigned char*>("\x02h2");
    const int result = SSL_select_next_proto(&found, size, ours, 3, offered, offered_size);
    *chosen = found;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
  }

  void Serve(Connection& connection) {
    std::call_once(prepared_, [this] {
      std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes also when the client has gone
      certificate_.Use(tls_);
      SSL_CTX_set_alpn_select_cb(tls_, &Choose, nullptr);
    });
    const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(tls_), &SSL_free);
    const int at_once = 1;
    setsockopt(connection.descriptor(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    SSL_set_fd(tls.get(), connection.descriptor());
    if (SSL_accept(tls.get()) != 1) return;
    ++connections_;
    script_(tls.get());
    SSL_shutdown(tls.get());
  }

  const TestCertificate certificate_;
  const Script script_;
  SSL_CTX* const tls_;
  std::once_flag prepared_;
  std::atomic<int> connections_ = 0;
  ScriptedServer server_;  // the last member: its threads use the others
};

}  // namespace agent_graph::testing
