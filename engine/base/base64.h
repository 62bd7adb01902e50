// Base64 as RFC 4648 has it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agent_graph {

std::string EncodeBase64(std::string_view bytes);
// Nothing when the text is not base64. The padding may be absent.
std::optional<std::string> DecodeBase64(std::string_view text);
// The alphabet of URLs, without padding.
std::string EncodeBase64Url(std::string_view bytes);

}  // namespace agent_graph
