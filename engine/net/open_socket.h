// Opens the TCP sockets of clients.
#pragma once

#include <boost/system/error_code.hpp>

namespace agent_graph::net {

// Returns a non-blocking socket that child processes do not inherit, as they would if Asio had
// opened it. It sends small pieces at once. Returns -1 and sets `error` if there is none.
int OpenTcpSocket(int family, boost::system::error_code& error);

}  // namespace agent_graph::net
