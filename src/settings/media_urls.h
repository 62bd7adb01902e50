// Rules for the URLs of images, audio, video and documents in messages. The service does not fetch
// these URLs. It passes them to the model's endpoint, which may be in a private network and reach
// more hosts than the client should.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "limits/address.h"

namespace agent_graph::settings {

// Configured hosts: "example.com", "*.example.com" (names below it), "*" (all), an address, a
// network in CIDR notation, or "private" (private, loopback and link-local networks and names that
// resolve to such).
class HostPatterns {
 public:
  // Adds a pattern. kInvalidArgument: `pattern` is not valid.
  Status Add(std::string_view pattern);
  bool empty() const { return patterns_.empty(); }

 private:
  friend class MediaUrls;
  struct Host;
  struct Pattern {
    enum class Kind : uint8_t { kAll, kPrivate, kName, kBelow, kRange };
    Kind kind = Kind::kAll;
    std::string name;            // for kName and kBelow, in lower case
    limits::AddressRange range;  // for kRange
  };
  static bool Matches(const Pattern& pattern, const Host& host);

  std::vector<Pattern> patterns_;
};

// Immutable after the settings are read, therefore thread-safe.
class MediaUrls {
 public:
  HostPatterns allowed;  // empty: all hosts
  HostPatterns denied;   // overrides `allowed`
  // Refuse hosts in private networks unless a pattern of `allowed` other than "*" matches.
  bool private_denied = false;

  // Returns the reason to refuse `url`, as the end of a sentence; nullopt if a message may contain
  // it. Data URLs are always allowed. Names are not resolved.
  std::optional<std::string> Fault(std::string_view url) const;
};

}  // namespace agent_graph::settings
