#include "net/resolve.h"

#include <netdb.h>
#include <sys/socket.h>

#include "net/resolver.h"

namespace agent_graph::net {
namespace {

Lookup AskSystem(const std::string& host, const std::string& port, int flags) {
  Lookup lookup;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    lookup.failure = gai_strerror(error);
    return lookup;
  }
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    lookup.endpoints.emplace_back(entry->ai_addr, entry->ai_addrlen, entry->ai_protocol);
  }
  freeaddrinfo(found);
  return lookup;
}

}  // namespace

bool IsAddress(const std::string& host) {
  return !AddressOf(host, "0").empty();
}

std::vector<StreamEndpoint> AddressOf(const std::string& host, const std::string& port) {
  return AskSystem(host, port, AI_NUMERICHOST | AI_NUMERICSERV).endpoints;
}

Result<std::vector<StreamEndpoint>> Resolve(const std::string& host, const std::string& port,
                                            const runtime::Cancellation* cancellation,
                                            Deadline deadline) {
  if (std::vector<StreamEndpoint> addresses = AddressOf(host, port); !addresses.empty()) {
    return addresses;
  }
  return Resolver::OfProcess().Resolve(host, port, cancellation, deadline);
}

// Its threads may still run when the process exits.
Resolver& Resolver::OfProcess() {
  static Resolver& resolver = *new Resolver(
      [](const std::string& host, const std::string& port) { return AskSystem(host, port, 0); });
  return resolver;
}

}  // namespace agent_graph::net
