// Rules for the URLs of images, audio, video and documents in messages. The service does not fetch
// them: they go to the model's endpoint, which may stand in a private network and reach more than
// the client should.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "limits/address.h"

namespace agent_graph::settings {

// Hosts as configured: "example.com", "*.example.com" (names below it), "*" (all), an address, a
// network in CIDR notation, or "private" (private, loopback and link-local networks and names that
// mean such).
class HostPatterns {
 public:
  // kInvalidArgument: not a pattern.
  Status Add(std::string_view pattern);
  bool empty() const { return patterns_.empty(); }

 private:
  friend class MediaUrls;
  struct Host;
  struct Pattern {
    enum class Kind : uint8_t { kAll, kPrivate, kName, kBelow, kRange };
    Kind kind = Kind::kAll;
    std::string name;            // of kName and kBelow, in lower case
    limits::AddressRange range;  // of kRange
  };
  static bool Matches(const Pattern& pattern, const Host& host);

  std::vector<Pattern> patterns_;
};

// Immutable once the settings are read, hence thread-safe.
class MediaUrls {
 public:
  HostPatterns allowed;  // empty: all hosts
  HostPatterns denied;   // beats `allowed`
  // Refuse hosts of private networks that no pattern of `allowed` but "*" names.
  bool private_denied = false;

  // The reason to refuse `url`, as the end of a sentence; nullopt when a message may have it. Data
  // URLs always pass. Names are not resolved.
  std::optional<std::string> Fault(std::string_view url) const;
};

}  // namespace agent_graph::settings
