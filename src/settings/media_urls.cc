#include "settings/media_urls.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "base/letter_case.h"

namespace agent_graph::settings {
namespace {

using limits::Address;
using limits::AddressRange;

constexpr size_t kNameBytesMax = 253;

// Networks that contain no public servers.
constexpr std::string_view kPrivateRanges[] = {
    "0.0.0.0/8",     "10.0.0.0/8",     "100.64.0.0/10",  "127.0.0.0/8",   "169.254.0.0/16",
    "172.16.0.0/12", "192.0.0.0/24",   "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/3",
    "::/127",        "64:ff9b:1::/48", "fc00::/7",       "fe80::/9",      "ff00::/8"};
// Domains that resolvers answer themselves, or that exist only in private networks.
constexpr std::string_view kPrivateDomains[] = {"localhost", "local",     "internal",   "intranet",
                                                "lan",       "home.arpa", "localdomain"};

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsBelow(std::string_view name, std::string_view domain) {
  return name.size() > domain.size() && name.ends_with(domain) &&
         name[name.size() - domain.size() - 1] == '.';
}

// True for names that some programs read as an address because of their last label: "0x7f", "127".
bool EndsInNumber(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  const bool hex = last.starts_with("0x") && std::all_of(last.begin() + 2, last.end(), [](char c) {
                     return IsDigit(c) || (c >= 'a' && c <= 'f');
                   });
  return hex || std::ranges::all_of(last, IsDigit);
}

// True for labels of letters, digits, hyphens and underscores, separated by dots.
bool IsName(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax || name.front() == '.' || name.back() == '.' ||
      name.find("..") != name.npos) {
    return false;
  }
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || IsDigit(c) || c == '-' || c == '_' || c == '.';
  });
}

Address FromV4(const uint8_t* bytes) {
  Address address;
  address.bytes[10] = address.bytes[11] = 0xff;
  std::copy_n(bytes, 4, address.bytes.begin() + 12);
  return address;
}

bool Begins(const Address& address, size_t at, std::initializer_list<uint8_t> bytes) {
  return std::equal(bytes.begin(), bytes.end(), address.bytes.begin() + static_cast<long>(at));
}

// Returns the address itself and the IPv4 addresses to which packets for it may be forwarded:
// several forms of IPv6 addresses contain an IPv4 address.
std::vector<Address> Reached(const Address& address) {
  std::vector<Address> all = {address};
  const uint8_t* const bytes = address.bytes.data();
  const bool compatible = Begins(address, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const bool translated = Begins(address, 0, {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0});
  const bool nat64 = Begins(address, 0, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0});
  const bool isatap =
      Begins(address, 8, {0, 0, 0x5e, 0xfe}) || Begins(address, 8, {2, 0, 0x5e, 0xfe});
  if (compatible || translated || nat64 || isatap) all.push_back(FromV4(bytes + 12));
  if (Begins(address, 0, {0x20, 0x02})) all.push_back(FromV4(bytes + 2));  // 6to4
  if (Begins(address, 0, {0x20, 0x01, 0, 0})) {                            // Teredo
    std::array<uint8_t, 4> client{};
    for (size_t i = 0; i < client.size(); ++i) client[i] = bytes[12 + i] ^ 0xff;
    all.push_back(FromV4(client.data()));
    all.push_back(FromV4(bytes + 4));
  }
  return all;
}

const std::vector<AddressRange>& PrivateRanges() {
  static const std::vector<AddressRange> ranges = [] {
    std::vector<AddressRange> parsed;
    for (const std::string_view text : kPrivateRanges) {
      parsed.push_back(limits::ParseAddressRange(text).value());
    }
    return parsed;
  }();
  return ranges;
}

bool IsPort(std::string_view text) {
  unsigned int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0 && port < 65536;
}

bool StartsWithScheme(std::string_view url, std::string_view scheme) {
  return url.size() >= scheme.size() && LowerCase(url.substr(0, scheme.size())) == scheme;
}

}  // namespace

struct HostPatterns::Host {
  std::string name;                // empty: the host is an address
  std::vector<Address> addresses;  // the addresses that connections to it may reach

  bool IsPrivate() const {
    if (!addresses.empty()) {
      return std::ranges::any_of(addresses, [](const Address& address) {
        return std::ranges::any_of(
            PrivateRanges(), [&](const AddressRange& range) { return range.Contains(address); });
      });
    }
    // A name without a dot is completed by the resolver, for example the name of another container.
    return name.find('.') == name.npos ||
           std::ranges::any_of(kPrivateDomains, [this](std::string_view domain) {
             return name == domain || IsBelow(name, domain);
           });
  }

  // Parses `text`, the part of a URL between user name and port. Returns nullopt unless it is a
  // name or an address. Accepts only one spelling of each address, because programs read other
  // spellings differently.
  static std::optional<Host> Parse(std::string_view text) {
    Host host;
    if (text.starts_with('[')) {
      if (!text.ends_with(']')) return std::nullopt;
      const std::optional<Address> address = limits::ParseAddress(text);
      if (!address) return std::nullopt;
      host.addresses = Reached(*address);
      return host;
    }
    if (text.ends_with('.')) text.remove_suffix(1);
    std::string name = LowerCase(text);
    if (!IsName(name)) return std::nullopt;
    if (!EndsInNumber(name)) {
      host.name = std::move(name);
      return host;
    }
    const std::optional<Address> address = limits::ParseAddress(name);
    if (!address) return std::nullopt;
    host.addresses = {*address};
    return host;
  }
};

bool HostPatterns::Matches(const Pattern& pattern, const Host& host) {
  switch (pattern.kind) {
    case Pattern::Kind::kAll:
      return true;
    case Pattern::Kind::kPrivate:
      return host.IsPrivate();
    case Pattern::Kind::kName:
      return host.name == pattern.name;
    case Pattern::Kind::kBelow:
      return IsBelow(host.name, pattern.name);
    case Pattern::Kind::kRange:
      return std::ranges::any_of(
          host.addresses, [&](const Address& address) { return pattern.range.Contains(address); });
  }
  return false;
}

Status HostPatterns::Add(std::string_view text) {
  Pattern pattern;
  std::string name = LowerCase(text);
  const bool bracketed = name.starts_with('[') && name.ends_with(']');
  const std::string_view bare =
      bracketed ? std::string_view(name).substr(1, name.size() - 2) : std::string_view(name);
  if (name == "*") {
    pattern.kind = Pattern::Kind::kAll;
  } else if (name == "private") {
    pattern.kind = Pattern::Kind::kPrivate;
  } else if (auto range = limits::ParseAddressRange(bare)) {
    pattern.kind = Pattern::Kind::kRange;
    pattern.range = *range;
  } else {
    pattern.kind = name.starts_with("*.") ? Pattern::Kind::kBelow : Pattern::Kind::kName;
    if (pattern.kind == Pattern::Kind::kBelow) name.erase(0, 2);
    if (!IsName(name) || EndsInNumber(name)) {
      return Status(StatusCode::kInvalidArgument,
                    "is not a host: write example.com, *.example.com, an address, a network as "
                    "10.0.0.0/8, private or *");
    }
    pattern.name = std::move(name);
  }
  patterns_.push_back(std::move(pattern));
  return Status::Ok();
}

std::optional<std::string> MediaUrls::Fault(std::string_view url) const {
  using Pattern = HostPatterns::Pattern;
  if (StartsWithScheme(url, "data:")) return std::nullopt;
  const size_t scheme = StartsWithScheme(url, "https://")  ? 8
                        : StartsWithScheme(url, "http://") ? 7
                                                           : 0;
  if (scheme == 0) return "must be an http, https or data URL";
  if (std::ranges::any_of(url, [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '\\';
      })) {
    return "must not contain blanks, control characters or backslashes";
  }
  std::string_view authority = url.substr(scheme);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  if (authority.find('@') != authority.npos) return "must not contain a user name";
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.find(':', bracket == authority.npos ? 0 : bracket);
  const bool port_is_usable = colon == authority.npos || IsPort(authority.substr(colon + 1));
  const auto host = HostPatterns::Host::Parse(authority.substr(0, colon));
  if (!host || !port_is_usable) {
    return "must name a host: a name in ASCII, four decimal numbers or an IPv6 address in brackets";
  }
  const auto matches = [&](const HostPatterns& patterns, bool all_too) {
    return std::ranges::any_of(patterns.patterns_, [&](const Pattern& pattern) {
      return (all_too || pattern.kind != Pattern::Kind::kAll) &&
             HostPatterns::Matches(pattern, *host);
    });
  };
  const bool passes = !matches(denied, true) && (allowed.empty() || matches(allowed, true)) &&
                      (!private_denied || !host->IsPrivate() || matches(allowed, false));
  if (passes) return std::nullopt;
  return "must not name a host that the service does not allow";
}

}  // namespace agent_graph::settings
