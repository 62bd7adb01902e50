#include "process/spawn_protocol.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "agent_graph/json.h"
#include "base/json.h"

namespace agent_graph::process {
namespace {

Status Malformed() {
  return Status(StatusCode::kUnavailable, "the spawner's packet cannot be read");
}

Result<json> ParsePacket(std::string_view packet) {
  Result<json> value = ParseJson(packet);
  if (!value.ok() || !value->is_object()) return Malformed();
  return value;
}

uint64_t NumberOf(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

std::string TextOf(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string ToPacket(const ProcessOptions& options) {
  return DumpJson({{"arguments", options.arguments},
                   {"environment", options.environment},
                   {"directory", options.directory},
                   {"limits",
                    {{"memory_bytes", options.limits.memory_bytes},
                     {"cpu_seconds", options.limits.cpu_seconds},
                     {"file_bytes", options.limits.file_bytes},
                     {"descriptors", options.limits.descriptors}}}});
}

Result<ProcessOptions> ReadOptions(std::string_view packet) {
  AG_ASSIGN_OR_RETURN(const json value, ParsePacket(packet));
  ProcessOptions options;
  const auto arguments = value.find("arguments");
  const auto environment = value.find("environment");
  const auto limits = value.find("limits");
  if (arguments == value.end() || !arguments->is_array() || arguments->empty() ||
      environment == value.end() || !environment->is_object() || limits == value.end() ||
      !limits->is_object()) {
    return Malformed();
  }
  for (const json& argument : *arguments) {
    if (!argument.is_string()) return Malformed();
    options.arguments.push_back(argument.get<std::string>());
  }
  for (const auto& [name, text] : environment->items()) {
    if (!text.is_string()) return Malformed();
    options.environment.emplace(name, text.get<std::string>());
  }
  options.directory = TextOf(value, "directory");
  options.limits.memory_bytes = NumberOf(*limits, "memory_bytes");
  options.limits.cpu_seconds = NumberOf(*limits, "cpu_seconds");
  options.limits.file_bytes = NumberOf(*limits, "file_bytes");
  options.limits.descriptors = NumberOf(*limits, "descriptors");
  return options;
}

std::string ToPacket(const StartReply& reply) {
  if (reply.error.empty()) return DumpJson({{"pid", reply.pid}});
  return DumpJson({{"error", reply.error}, {"full", reply.full}});
}

Result<StartReply> ReadStartReply(std::string_view packet) {
  AG_ASSIGN_OR_RETURN(const json value, ParsePacket(packet));
  StartReply reply;
  reply.pid = static_cast<pid_t>(NumberOf(value, "pid"));
  reply.error = TextOf(value, "error");
  reply.full = value.value("full", json()) == true;
  if (reply.pid == 0 && reply.error.empty()) return Malformed();
  return reply;
}

std::string ToPacket(const ProcessEnd& end) {
  return DumpJson({{"exit_code", end.exit_code}, {"signal", end.signal}});
}

Result<ProcessEnd> ReadEnd(std::string_view packet) {
  AG_ASSIGN_OR_RETURN(const json value, ParsePacket(packet));
  return ProcessEnd{static_cast<int>(NumberOf(value, "exit_code")),
                    static_cast<int>(NumberOf(value, "signal"))};
}

bool SendPacket(int socket, std::string_view packet, const Descriptors* descriptors) {
  iovec part{const_cast<char*>(packet.data()), packet.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(Descriptors))] = {};
  if (descriptors != nullptr) {
    const auto end = std::find(descriptors->begin(), descriptors->end(), -1);
    const size_t bytes = static_cast<size_t>(end - descriptors->begin()) * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(header), descriptors->data(), bytes);
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(packet.size());
}

std::optional<std::string> ReceivePacket(int socket, Descriptors* descriptors) {
  std::vector<char> bytes(kPacketBytesMax);
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(Descriptors))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do {
    got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    return std::string();
  }
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int descriptor;
      std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      if (descriptors != nullptr && i < descriptors->size()) {
        (*descriptors)[i] = descriptor;
      } else {
        close(descriptor);
      }
    }
  }
  return std::string(bytes.data(), static_cast<size_t>(got));
}

}  // namespace agent_graph::process
