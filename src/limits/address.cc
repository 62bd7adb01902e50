#include "limits/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/text.h"

namespace agent_graph::limits {
namespace {

constexpr std::array<uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr int kMappedBits = 96;

template <typename Integer>
bool ParseNumber(std::string_view text, Integer max, Integer& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out <= max;
}

bool IsPort(std::string_view text) {
  unsigned port = 0;
  return ParseNumber(text, 65535U, port);
}

// Returns the address part for inet_pton; empty if brackets or port are malformed.
std::string_view WithoutPort(std::string_view text) {
  if (text.starts_with('[')) {
    size_t close = text.find(']');
    if (close == std::string_view::npos) return {};
    std::string_view rest = text.substr(close + 1);
    if (!rest.empty() && (rest[0] != ':' || !IsPort(rest.substr(1)))) return {};
    return text.substr(1, close - 1);
  }
  size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) {
    return text;
  }
  return IsPort(text.substr(colon + 1)) ? text.substr(0, colon) : std::string_view();
}

std::optional<Address> ParseBare(std::string_view text) {
  char buffer[INET6_ADDRSTRLEN];
  if (text.empty() || text.size() >= sizeof(buffer)) return std::nullopt;
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  Address address;
  if (inet_pton(AF_INET6, buffer, address.bytes.data()) == 1) return address;
  std::ranges::copy(kMappedPrefix, address.bytes.begin());
  if (inet_pton(AF_INET, buffer, address.bytes.data() + kMappedPrefix.size()) == 1) return address;
  return std::nullopt;
}

}  // namespace

bool Address::IsV4() const {
  return std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), bytes.begin());
}

std::string Address::ToString() const {
  char text[INET6_ADDRSTRLEN];
  const uint8_t* from = bytes.data() + (IsV4() ? kMappedPrefix.size() : 0);
  return inet_ntop(IsV4() ? AF_INET : AF_INET6, from, text, sizeof(text));
}

std::optional<Address> ParseAddress(std::string_view text) {
  return ParseBare(WithoutPort(Trim(text)));
}

bool AddressRange::Contains(const Address& address) const {
  int whole = prefix_bits / 8;
  if (!std::equal(network.bytes.begin(), network.bytes.begin() + whole, address.bytes.begin())) {
    return false;
  }
  int rest = prefix_bits % 8;
  return rest == 0 || (network.bytes[whole] ^ address.bytes[whole]) >> (8 - rest) == 0;
}

std::optional<AddressRange> ParseAddressRange(std::string_view text) {
  size_t slash = text.find('/');
  std::optional<Address> network = ParseBare(text.substr(0, slash));
  if (!network) return std::nullopt;
  AddressRange range{*network, 128};
  if (slash != std::string_view::npos) {
    bool v4 = text.find(':') == std::string_view::npos;
    unsigned bits = 0;
    if (!ParseNumber(text.substr(slash + 1), v4 ? 32U : 128U, bits)) return std::nullopt;
    range.prefix_bits = static_cast<uint8_t>(bits + (v4 ? kMappedBits : 0));
  }
  // A network with host bits set is a typing error.
  for (int bit = range.prefix_bits; bit < 128; ++bit) {
    if (network->bytes[bit / 8] & (0x80 >> (bit % 8))) return std::nullopt;
  }
  return range;
}

}  // namespace agent_graph::limits
