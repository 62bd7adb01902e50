// Parses arbitrary header fields as an opening handshake: one field per line, "name: value".
#include <cstdint>
#include <cstdlib>
#include <string>

#include "websocket/handshake.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace agent_graph::websocket;  // NOLINT: the namespace under test
  agent_graph::bridge::HeaderList headers;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    headers.emplace_back(line.substr(0, colon), line.substr(colon + 1));
  }
  const std::vector<std::string> spoken{"service-bearer"};
  std::string_view chosen = ChooseSubprotocol(headers, spoken);
  if (!chosen.empty() && chosen != spoken[0]) std::abort();
  if (CheckHandshake(headers)) return 0;
  if (!AsksForWebSocket(headers)) std::abort();
  for (const auto& [name, value] : headers) {
    if (name == "sec-websocket-key" && AcceptKey(value).size() != 28) std::abort();
  }
  return 0;
}
