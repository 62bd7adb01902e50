// TlsSession: the client's side of TLS (RFC 8446, RFC 5246) on a connected socket that does not
// block.
//
// It works on the socket itself and holds no buffer while it waits for a record. Asio's stream for
// TLS holds two buffers of 17 KiB for its whole life.
#pragma once

#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace agent_graph::net {

// Not thread-safe. Every function returns at once. The thread must ignore or block SIGPIPE, as
// engine threads do, because OpenSSL may write to a connection that the server has closed.
class TlsSession {
 public:
  enum class Outcome : uint8_t {
    kDone,
    kWaitsToRead,   // call the same function again when the socket has bytes
    kWaitsToWrite,  // call it again, with the same bytes, when the socket has room
    kEnded,         // the server has ended the session, so that nothing is missing
    kFailed,        // also if the server closes the connection without ending the session
  };

  // The server's certificate must be valid for `host`, a name or an address. Offers HTTP/1.1 only.
  // `descriptor` stays the caller's and must outlive the session.
  TlsSession(boost::asio::ssl::context& context, const std::string& host, int descriptor);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  Outcome Handshake();
  // Reads at most one record. kDone: `bytes` is the number of bytes, never 0.
  Outcome Read(char* buffer, size_t size, size_t& bytes);
  // Writes the beginning of `first` and then `second`, at most one record. kFailed: Read may still
  // return what the server sent before it closed the connection.
  Outcome Write(std::string_view first, std::string_view second, size_t& bytes);
  // True if Read may have something to return although the socket has not: bytes that were received
  // (perhaps only a part of a record), the end of the session, or a failure.
  bool MayReadNow() const;
  // True if the server has neither ended the session nor sent anything unexpected.
  bool IsQuiet();
  // Tells the server that nothing follows. Does not wait.
  void End();

  // Why an operation failed.
  bool refused_certificate() const { return refused_certificate_; }
  const std::string& failure() const { return failure_; }

 private:
  struct Free {
    void operator()(SSL* tls) const { SSL_free(tls); }
  };

  bool Prepare(const std::string& host, int descriptor);
  Outcome OutcomeOf(int result);
  Outcome Fail();

  const std::unique_ptr<SSL, Free> tls_;
  bool is_open_ = false;  // the handshake is made, and the session has neither ended nor failed
  Outcome end_ = Outcome::kFailed;  // what all functions return if it is not open
  bool refused_certificate_ = false;
  std::string failure_;
};

}  // namespace agent_graph::net
