// Protocol between a worker and the spawner, over a SOCK_SEQPACKET socket with one connection per
// program.
//
//   worker:  {"arguments":[…],"environment":{…},"directory":"/","limits":{…}}, optionally with a
//            file descriptor that becomes the program's standard input
//   spawner: {"pid":7} with the worker's ends of standard input, output and errors
//            or {"error":"…","full":false}, and the connection ends
//   spawner: {"exit_code":0,"signal":0} when the program has ended
//
// If either side closes the connection, the program is ended. Each packet is JSON text of at most
// kPacketBytesMax bytes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "process/process.h"

namespace agent_graph::process {

inline constexpr size_t kPacketBytesMax = 128 * 1024;

std::string ToPacket(const ProcessOptions& options);
Result<ProcessOptions> ReadOptions(std::string_view packet);

struct StartReply {
  pid_t pid = 0;
  std::string error;  // empty: the program is running
  bool full = false;  // true: the spawner has reached its limit
};
std::string ToPacket(const StartReply& reply);
Result<StartReply> ReadStartReply(std::string_view packet);

std::string ToPacket(const ProcessEnd& end);
Result<ProcessEnd> ReadEnd(std::string_view packet);

// Descriptors sent with a packet, up to the first -1: standard input, output and errors.
using Descriptors = std::array<int, 3>;

// Sets errno if it returns false.
bool SendPacket(int socket, std::string_view packet, const Descriptors* descriptors = nullptr);
// Does not wait. nullopt: no packet yet; empty text: the connection has ended. `descriptors`
// receives the descriptors of the packet; if it is null they are closed.
std::optional<std::string> ReceivePacket(int socket, Descriptors* descriptors = nullptr);

}  // namespace agent_graph::process
