// Base64 (RFC 4648).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph {

std::string EncodeBase64(std::string_view bytes);
// nullopt if the text is not base64. The padding may be absent.
std::optional<std::string> DecodeBase64(std::string_view text);
// The URL-safe alphabet, without padding.
std::string EncodeBase64Url(std::string_view bytes);

}  // namespace agent_graph
