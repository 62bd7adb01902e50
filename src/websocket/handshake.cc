#include "websocket/handshake.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "base/letter_case.h"
#include "base/text.h"

namespace agent_graph::websocket {
namespace {

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::string_view kVersion = "13";
constexpr size_t kKeyBytes = 24;   // base64 of 16 bytes
constexpr size_t kKeyDigits = 22;  // before the padding

bool HasToken(const bridge::HeaderList& headers, std::string_view name, std::string_view token) {
  return std::ranges::any_of(HeaderTokens(headers, name), [&](std::string_view offered) {
    return EqualsIgnoringCase(offered, token);
  });
}

// Returns a header that must occur exactly once; otherwise nullopt.
std::optional<std::string_view> SingleField(const bridge::HeaderList& headers,
                                            std::string_view name) {
  std::optional<std::string_view> found;
  for (const auto& [key, value] : headers) {
    if (key != name) continue;
    if (found) return std::nullopt;
    found = Trim(value);
  }
  return found;
}

bool IsBase64Digit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/';
}

bool IsKey(std::string_view key) {
  return key.size() == kKeyBytes && key.ends_with("==") &&
         std::ranges::all_of(key.substr(0, kKeyDigits), IsBase64Digit);
}

}  // namespace

std::vector<std::string_view> HeaderTokens(const bridge::HeaderList& headers,
                                           std::string_view name) {
  std::vector<std::string_view> tokens;
  for (const auto& [key, value] : headers) {
    if (key != name) continue;
    for (std::string_view rest = value;;) {
      size_t comma = rest.find(',');
      std::string_view token = Trim(rest.substr(0, comma));
      if (!token.empty()) tokens.push_back(token);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return tokens;
}

bool AsksForWebSocket(const bridge::HeaderList& headers) {
  return HasToken(headers, "upgrade", "websocket");
}

std::optional<HandshakeFault> CheckHandshake(const bridge::HeaderList& headers) {
  if (!AsksForWebSocket(headers)) {
    return HandshakeFault{426, "this route accepts only WebSocket connections"};
  }
  if (!HasToken(headers, "connection", "upgrade")) {
    return HandshakeFault{400, "the Connection header does not contain Upgrade"};
  }
  std::optional<std::string_view> version = SingleField(headers, "sec-websocket-version");
  if (version != kVersion) return HandshakeFault{426, "only WebSocket version 13 is supported"};
  std::optional<std::string_view> key = SingleField(headers, "sec-websocket-key");
  if (!key || !IsKey(*key)) {
    return HandshakeFault{400, "Sec-WebSocket-Key is not the base64 form of 16 bytes"};
  }
  return std::nullopt;
}

std::string AcceptKey(std::string_view key) {
  std::string text(Trim(key));
  text += kGuid;
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::array<unsigned char, 4 * ((SHA_DIGEST_LENGTH + 2) / 3) + 1> encoded;
  int size = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(digest.size()));
  return {reinterpret_cast<const char*>(encoded.data()), static_cast<size_t>(size)};
}

std::string_view ChooseSubprotocol(const bridge::HeaderList& headers,
                                   const std::vector<std::string>& supported) {
  for (std::string_view offered : HeaderTokens(headers, "sec-websocket-protocol")) {
    if (std::ranges::find(supported, offered) != supported.end()) return offered;
  }
  return {};
}

}  // namespace agent_graph::websocket
