#include "net/resolve.h"

#include <netdb.h>
#include <sys/socket.h>

#include <utility>

#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::net {
namespace {

struct Lookup {
  std::vector<StreamEndpoint> endpoints;
  std::string failure;
};

Lookup LookUp(const std::string& host, const std::string& port, int flags) {
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
  return LookUp(host, port, AI_NUMERICHOST | AI_NUMERICSERV).endpoints;
}

Result<std::vector<StreamEndpoint>> Resolve(const std::string& host, const std::string& port,
                                            const runtime::Cancellation* cancellation,
                                            Deadline deadline) {
  runtime::Runtime* const runtime = runtime::Runtime::Current();
  const runtime::Promise<Lookup> promise;
  runtime->Spawn(
      [runtime, host, port, promise] {
        Lookup lookup;
        runtime->RunOnIoPool([&] { lookup = LookUp(host, port, 0); });
        promise.Set(std::move(lookup));
      },
      true);
  AG_ASSIGN_OR_RETURN(Lookup lookup, promise.Wait(cancellation, deadline));
  if (lookup.endpoints.empty()) {
    return Status(StatusCode::kNotFound, "the host's name could not be resolved")
        .WithDetail(lookup.failure);
  }
  return std::move(lookup.endpoints);
}

}  // namespace agent_graph::net
