// A server of HTTP/2 over TLS, with a certificate of its own, that does with each request as a test
// says. Its replies keep to the flow control of the client.
#pragma once

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "net/http_client.h"
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

struct Http2Request {
  int32_t stream = 0;
  std::map<std::string, std::string> headers;
  std::string body;
};

// One connection. A script calls it on the connection's thread.
class Http2Session {
 public:
  using Handler = std::function<void(Http2Session&, const Http2Request&)>;

  Http2Session(SSL* tls, const Handler& handler, uint32_t streams_max)
      : tls_(tls), handler_(handler) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &OnHeader);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &OnData);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &OnFrame);
    nghttp2_session_server_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams_max}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 1);
  }
  ~Http2Session() { nghttp2_session_del(session_); }
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  void Serve() {
    char data[8 * 1024];
    for (;;) {
      if (!Send() || closing_) return;
      const int size = SSL_read(tls_, data, sizeof data);
      if (size <= 0) return;
      const auto* const bytes = reinterpret_cast<const uint8_t*>(data);
      if (nghttp2_session_mem_recv(session_, bytes, static_cast<size_t>(size)) < 0) return;
    }
  }

  // Number of the request on this connection, from 1.
  int requests() const { return requests_; }

  void Reply(int32_t stream, std::string body, bool ends = true, bool with_trailers = false) {
    Part& part = parts_[stream];
    part = {std::move(body), 0, ends, with_trailers};
    nghttp2_nv fields[] = {Field(":status", "200"), Field("x-stream", "yes")};
    nghttp2_data_provider provider{};
    provider.source.ptr = &part;
    provider.read_callback = &OnGive;
    nghttp2_submit_response(session_, stream, fields, 2, &provider);
  }
  void SendInformation(int32_t stream) {
    nghttp2_nv fields[] = {Field(":status", "103"), Field("link", "x")};
    nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream, nullptr, fields, 2, nullptr);
  }
  void Reset(int32_t stream, uint32_t error) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, error);
  }
  void SendGoaway(int32_t last_stream) {
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last_stream, NGHTTP2_NO_ERROR, nullptr, 0);
  }
  // Closes the connection after what was submitted has been sent.
  void Close() { closing_ = true; }

 private:
  struct Part {
    std::string body;
    size_t given = 0;
    bool ends = true;
    bool with_trailers = false;
  };

  static nghttp2_nv Field(std::string_view name, std::string_view value) {
    return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
            reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
            NGHTTP2_NV_FLAG_NONE};
  }
  static Http2Session& From(void* self) { return *static_cast<Http2Session*>(self); }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* self) {
    From(self)
        .requests_in_[frame->hd.stream_id]
        .headers[{reinterpret_cast<const char*>(name), name_size}]
        .assign(reinterpret_cast<const char*>(value), value_size);
    return 0;
  }
  static int OnData(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data, size_t size,
                    void* self) {
    From(self).requests_in_[stream].body.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    const bool is_request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!is_request || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    Http2Session& session = From(self);
    Http2Request request = std::move(session.requests_in_[frame->hd.stream_id]);
    session.requests_in_.erase(frame->hd.stream_id);
    request.stream = frame->hd.stream_id;
    ++session.requests_;
    session.handler_(session, request);
    return 0;
  }
  static ssize_t OnGive(nghttp2_session* session, int32_t stream, uint8_t* data, size_t room,
                        uint32_t* flags, nghttp2_data_source* source, void*) {
    Part& part = *static_cast<Part*>(source->ptr);
    const size_t size = part.body.copy(reinterpret_cast<char*>(data), room, part.given);
    part.given += size;
    if (part.given < part.body.size()) return static_cast<ssize_t>(size);
    if (!part.ends) return size > 0 ? static_cast<ssize_t>(size) : ssize_t{NGHTTP2_ERR_DEFERRED};
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (part.with_trailers) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      nghttp2_nv fields[] = {Field("x-trailer", "yes")};
      nghttp2_submit_trailer(session, stream, fields, 1);
    }
    return static_cast<ssize_t>(size);
  }

  bool Send() {
    for (;;) {
      const uint8_t* data = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &data);
      if (size <= 0) return size == 0;
      if (SSL_write(tls_, data, static_cast<int>(size)) <= 0) return false;
    }
  }

  SSL* const tls_;
  const Handler& handler_;
  nghttp2_session* session_ = nullptr;
  std::map<int32_t, Http2Request> requests_in_;
  std::map<int32_t, Part> parts_;
  int requests_ = 0;
  bool closing_ = false;
};

class Http2Server {
 public:
  explicit Http2Server(Http2Session::Handler handler, uint32_t streams_max = 100)
      : handler_(std::move(handler)),
        streams_max_(streams_max),
        tls_(SSL_CTX_new(TLS_server_method())),
        server_([this](Connection& connection) { Serve(connection); }) {}
  ~Http2Server() { SSL_CTX_free(tls_); }

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
    Http2Session session(tls.get(), handler_, streams_max_);
    session.Serve();
    SSL_shutdown(tls.get());
  }

  const TestCertificate certificate_;
  const Http2Session::Handler handler_;
  const uint32_t streams_max_;
  SSL_CTX* const tls_;
  std::once_flag prepared_;
  std::atomic<int> connections_ = 0;
  ScriptedServer server_;  // the last member: its threads use the others
};

}  // namespace agent_graph::testing
