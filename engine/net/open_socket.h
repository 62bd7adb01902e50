// Opens the TCP sockets of clients.
#pragma once

#include <boost/system/error_code.hpp>
#include <chrono>

namespace agent_graph::net {

// Limit for connecting to an address of a host that has more: one that does not answer must not use
// up the time for the others.
inline constexpr std::chrono::seconds kAddressTime{1};

// Returns a non-blocking socket that child processes do not inherit, as they would if Asio had
// opened it. It sends small pieces at once. Returns -1 and sets `error` if there is none.
int OpenTcpSocket(int family, boost::system::error_code& error);

}  // namespace agent_graph::net
