// The settings of TLS for clients, with the certificates that they trust.
#pragma once

#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

namespace agent_graph::net {

// Returns the context for HTTP/2 clients that trust the certificates of `ca_file`. It offers "h2"
// and "http/1.1" (ALPN). Reading the file takes tens of milliseconds, so the process keeps each
// context for a day. If the file cannot be read, the context accepts no certificate. Thread-safe,
// as is the use of a context.
std::shared_ptr<boost::asio::ssl::context> TlsContextFor(const std::string& ca_file);

// Call it before the handshake, which then fails unless the server's certificate is valid for
// `host`, a name or an address. The handshake also sends a name to the server (SNI, RFC 6066), but
// not an address. Returns false if there is no memory, or `host` is no name.
bool ExpectServer(SSL* tls, const std::string& host);

}  // namespace agent_graph::net
