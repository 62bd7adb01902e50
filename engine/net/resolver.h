// Resolver: looks up the names of hosts on threads of its own. getaddrinfo blocks while the name
// servers do not answer, which may be a minute, so it would keep other blocking work waiting.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "net/resolve.h"
#include "runtime/cancellation.h"

namespace agent_graph::net {

struct Lookup {
  std::vector<StreamEndpoint> endpoints;
  std::string failure;  // the resolver's text if there are no endpoints
};

// Thread-safe. A name that is already being looked up is not looked up twice: all callers get the
// same result. A thread ends when no name is queued.
class Resolver {
 public:
  using LookUp = std::function<Lookup(const std::string& host, const std::string& port)>;

  static constexpr size_t kThreadsMax = 8;
  static constexpr size_t kQueuedMax = 256;

  explicit Resolver(LookUp look_up);
  ~Resolver();  // lookups that have begun go on, without a receiver
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // The resolver of this process, which asks the system. It is never destroyed.
  static Resolver& OfProcess();

  // Failures: as net::Resolve.
  Result<std::vector<StreamEndpoint>> Resolve(const std::string& host, const std::string& port,
                                              const runtime::Cancellation* cancellation,
                                              Deadline deadline);
  // Number of names that are queued or being looked up.
  size_t pending() const;

 private:
  struct Shared;

  const std::shared_ptr<Shared> shared_;  // with the threads
};

}  // namespace agent_graph::net
