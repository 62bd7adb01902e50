// Looks up the addresses of a host without blocking the engine thread.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/cancellation.h"

namespace agent_graph::net {

using StreamEndpoint = boost::asio::generic::stream_protocol::endpoint;

// True if `host` is the text of an IPv4 or IPv6 address (without brackets), which needs no lookup.
bool IsAddress(const std::string& host);

// The address that `host` spells; empty if it is not one.
std::vector<StreamEndpoint> AddressOf(const std::string& host, const std::string& port);

// Asks the system's resolver (net/resolver.h) unless `host` is an address. Call it on a fiber,
// which is suspended. Failures: kNotFound with the resolver's text as the detail, kCancelled,
// kDeadlineExceeded, kUnavailable (too many other names are being looked up).
Result<std::vector<StreamEndpoint>> Resolve(const std::string& host, const std::string& port,
                                            const runtime::Cancellation* cancellation,
                                            Deadline deadline);

}  // namespace agent_graph::net
