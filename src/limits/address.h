// Addresses of clients and of the proxies before them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::limits {

// An IPv4 address is kept as the IPv6 address that maps it, so that both spellings are one client.
struct Address {
  std::array<uint8_t, 16> bytes{};

  bool IsV4() const;
  std::string ToString() const;  // "192.0.2.1", "2001:db8::1"
  friend bool operator==(const Address&, const Address&) = default;
};

// "192.0.2.1", "192.0.2.1:443", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:443"; blanks around
// it are ignored.
std::optional<Address> ParseAddress(std::string_view text);

// "10.0.0.0/8", "2001:db8::/32", or a single address.
struct AddressRange {
  Address network;
  uint8_t prefix_bits = 128;  // of the mapped form

  bool Contains(const Address& address) const;
};

// Nothing when `text` is no range, or has bits outside its prefix.
std::optional<AddressRange> ParseAddressRange(std::string_view text);

}  // namespace agent_graph::limits
