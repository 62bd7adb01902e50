// What a worker and the spawner say to each other, over a SOCK_SEQPACKET socket; one connection per
// program.
//
//   worker:  {"arguments":[…],"environment":{…},"directory":"/","limits":{…}}, perhaps with a file
//            that is to be the program's standard input
//   spawner: {"pid":7} with the worker's ends of standard input, output and errors
//            or {"error":"…","full":false}, and the connection ends
//   spawner: {"exit_code":0,"signal":0} when the program has ended
//
// Whoever closes the connection ends the program. Each packet is JSON text of at most
// kPacketBytesMax.
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
  std::string error;  // empty: it runs
  bool full = false;  // the error is a bound of the spawner's
};
std::string ToPacket(const StartReply& reply);
Result<StartReply> ReadStartReply(std::string_view packet);

std::string ToPacket(const ProcessEnd& end);
Result<ProcessEnd> ReadEnd(std::string_view packet);

// Descriptors that travel with a packet, up to the first -1: standard input, output and errors.
using Descriptors = std::array<int, 3>;

// errno is set when false.
bool SendPacket(int socket, std::string_view packet, const Descriptors* descriptors = nullptr);
// Without waiting: nothing when there is none yet; an empty text at the end of the connection.
// `descriptors` gets what came along, else that is closed.
std::optional<std::string> ReceivePacket(int socket, Descriptors* descriptors = nullptr);

}  // namespace agent_graph::process
