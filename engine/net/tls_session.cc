#include "net/tls_session.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <cerrno>
#include <system_error>

#include "net/tls_contexts.h"

namespace agent_graph::net {
namespace {

constexpr std::string_view kHttp1 = "\x08http/1.1";  // RFC 7301: with its length before it

// Call it before each operation, because SSL_get_error looks at all errors of the thread.
void ForgetErrors() {
  ERR_clear_error();
  errno = 0;
}

std::string NewestError() {
  const unsigned long error = ERR_peek_last_error();
  const char* const reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  if (reason != nullptr) return reason;
  return errno == 0 ? "the connection was closed" : std::system_category().message(errno);
}

}  // namespace

TlsSession::TlsSession(boost::asio::ssl::context& context, const std::string& host, int descriptor)
    : tls_(SSL_new(context.native_handle())) {
  if (tls_ == nullptr || !Prepare(host, descriptor)) failure_ = "no memory for a TLS session";
}

TlsSession::~TlsSession() = default;

bool TlsSession::Prepare(const std::string& host, int descriptor) {
  SSL* const tls = tls_.get();
  SSL_set_options(tls, SSL_OP_NO_RENEGOTIATION);
  SSL_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // A system call reads all records that have arrived, and not the head and the rest of each one.
  SSL_set_read_ahead(tls, 1);
  if (SSL_set_alpn_protos(tls, reinterpret_cast<const unsigned char*>(kHttp1.data()),
                          kHttp1.size()) != 0) {
    return false;
  }
  return ExpectServer(tls, host) && SSL_set_fd(tls, descriptor) == 1;
}

TlsSession::Outcome TlsSession::Handshake() {
  if (!failure_.empty()) return Outcome::kFailed;
  ForgetErrors();
  const int result = SSL_connect(tls_.get());
  is_open_ = result == 1;
  return is_open_ ? Outcome::kDone : OutcomeOf(result);
}

TlsSession::Outcome TlsSession::Read(char* buffer, size_t size, size_t& bytes) {
  if (!is_open_) return end_;
  ForgetErrors();
  const int result = SSL_read_ex(tls_.get(), buffer, size, &bytes);
  return result == 1 ? Outcome::kDone : OutcomeOf(result);
}

TlsSession::Outcome TlsSession::Write(std::string_view first, std::string_view second,
                                      size_t& bytes) {
  if (!is_open_) return end_;
  // One record for both, so that a short request is one packet.
  std::string joined;
  if (first.size() < SSL3_RT_MAX_PLAIN_LENGTH && !first.empty() && !second.empty()) {
    joined.assign(first);
    joined.append(second.substr(0, SSL3_RT_MAX_PLAIN_LENGTH - first.size()));
    first = joined;
  } else if (first.empty()) {
    first = second;
  }
  ForgetErrors();
  const int result = SSL_write_ex(tls_.get(), first.data(), first.size(), &bytes);
  // The server has closed the connection. What it sent before can still be read.
  if (result != 1 && SSL_get_error(tls_.get(), result) == SSL_ERROR_SYSCALL) {
    return Outcome::kFailed;
  }
  return result == 1 ? Outcome::kDone : OutcomeOf(result);
}

bool TlsSession::MayReadNow() const {
  return !is_open_ || SSL_has_pending(tls_.get()) == 1;
}

bool TlsSession::IsQuiet() {
  if (!is_open_) return false;
  ForgetErrors();
  char byte = 0;
  size_t bytes = 0;
  // This also takes what servers send at any time, such as tickets for later sessions.
  const int result = SSL_peek_ex(tls_.get(), &byte, 1, &bytes);
  return result != 1 && OutcomeOf(result) == Outcome::kWaitsToRead;
}

void TlsSession::End() {
  if (!is_open_) return;
  ForgetErrors();
  (void)SSL_shutdown(tls_.get());
}

TlsSession::Outcome TlsSession::OutcomeOf(int result) {
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Outcome::kWaitsToRead;
    case SSL_ERROR_WANT_WRITE:
      return Outcome::kWaitsToWrite;
    case SSL_ERROR_ZERO_RETURN:
      is_open_ = false;
      return end_ = Outcome::kEnded;
    default:
      return Fail();
  }
}

TlsSession::Outcome TlsSession::Fail() {
  is_open_ = false;
  const long refusal = SSL_get_verify_result(tls_.get());
  refused_certificate_ = refusal != X509_V_OK;
  failure_ = refused_certificate_ ? X509_verify_cert_error_string(refusal) : NewestError();
  return Outcome::kFailed;
}

}  // namespace agent_graph::net
