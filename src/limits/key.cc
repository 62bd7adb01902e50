#include "limits/key.h"

#include <algorithm>
#include <optional>

namespace agent_graph::limits {
namespace {

// Returns the n-th entry from the right, counted from 1; empty if there are fewer.
std::string_view EntryFromRight(std::string_view list, uint32_t n) {
  for (;;) {
    size_t comma = list.rfind(',');
    std::string_view entry = comma == std::string_view::npos ? list : list.substr(comma + 1);
    if (--n == 0) return entry;
    if (comma == std::string_view::npos) return {};
    list = list.substr(0, comma);
  }
}

bool IsTrusted(const RateLimitOptions& options, const std::optional<Address>& peer) {
  if (options.trusted_proxies.empty()) return true;
  return peer && std::ranges::any_of(options.trusted_proxies, [&](const AddressRange& range) {
           return range.Contains(*peer);
         });
}

// A customer with IPv6 has a network of 64 bits or more, and can send each request from another
// address of it.
std::string NetworkOf(std::string_view client_address) {
  constexpr size_t kNetworkBytes = 8;
  std::optional<Address> address = ParseAddress(client_address);
  // RFC 6052: the addresses of all IPv4 clients behind a translator begin with 64:ff9b::/96.
  static const AddressRange translated = ParseAddressRange("64:ff9b::/96").value();
  if (!address || address->IsV4() || translated.Contains(*address)) {
    return std::string(client_address);
  }
  std::fill(address->bytes.begin() + kNetworkBytes, address->bytes.end(), 0);
  return address->ToString();
}

std::string_view WithoutSlash(std::string_view path) {
  if (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

}  // namespace

std::string ClientAddress(const RateLimitOptions& options, std::string_view peer,
                          std::string_view forwarded_for) {
  std::optional<Address> address = ParseAddress(peer);
  if (options.trusted_proxy_headers && !forwarded_for.empty() && IsTrusted(options, address)) {
    std::optional<Address> named =
        ParseAddress(EntryFromRight(forwarded_for, options.trusted_proxy_hops));
    if (named) address = named;
  }
  return address ? address->ToString() : std::string(peer);
}

std::string BucketKey(const RateLimitOptions& options, std::string_view client_address,
                      std::string_view user_id) {
  if (options.by == RateLimitOptions::By::kGlobal) return "__global__";
  if (options.by == RateLimitOptions::By::kUser && !user_id.empty()) {
    return "user:" + std::string(user_id);
  }
  return "ip:" + NetworkOf(client_address);
}

// Routes match with and without a trailing slash, so both forms are excluded.
bool IsExcluded(const RateLimitOptions& options, std::string_view path) {
  return std::ranges::any_of(options.exclude_paths, [&](std::string_view excluded) {
    return WithoutSlash(excluded) == WithoutSlash(path);
  });
}

}  // namespace agent_graph::limits
