// Texts that a client keeps for the service and cannot change: a payload with a keyed digest of it.
// The payload is readable.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph::auth {

// Returns the payload and its digest as base64url. `purpose` is a part of what the digest covers: a
// text that was sealed for one purpose cannot be opened for another. Thread-safe, like Unseal.
std::string Seal(std::string_view key, std::string_view purpose, std::string_view payload);
// Returns the payload; nullopt if the text was not sealed with this key for this purpose. Compares
// in constant time.
std::optional<std::string> Unseal(std::string_view key, std::string_view purpose,
                                  std::string_view text);

}  // namespace agent_graph::auth
