// IP addresses and ranges of clients and proxies.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::limits {

// Stores an IPv4 address as an IPv4-mapped IPv6 address, so that both forms are the same client.
struct Address {
  std::array<uint8_t, 16> bytes{};

  bool IsV4() const;
  std::string ToString() const;  // "192.0.2.1", "2001:db8::1"
  friend bool operator==(const Address&, const Address&) = default;
};

// Parses "192.0.2.1", "192.0.2.1:443", "2001:db8::1", "[2001:db8::1]" or "[2001:db8::1]:443";
// ignores blanks around it. nullopt: not an address.
std::optional<Address> ParseAddress(std::string_view text);

// A range such as "10.0.0.0/8" or "2001:db8::/32", or a single address.
struct AddressRange {
  Address network;
  uint8_t prefix_bits = 128;  // counted in the IPv6 form

  bool Contains(const Address& address) const;
};

// Returns nullopt if `text` is not a range or has host bits set.
std::optional<AddressRange> ParseAddressRange(std::string_view text);

}  // namespace agent_graph::limits
