// MIME types of files: what a name says, what is allowed, what a browser may show.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace agent_graph::media {

// "image/PNG; x=y" → "image/png"; empty for what is no type at all, or more than one.
std::string Essence(std::string_view content_type);

// By the extension; application/octet-stream for an unknown one.
std::string TypeOfName(std::string_view filename);

// `allowed`: "image/png", "image/*" or "*/*", in lower case; nothing in it allows everything.
bool IsAllowed(std::string_view content_type, std::span<const std::string> allowed);

// Types that browsers run: pages, vector images, scripts.
bool IsActiveType(std::string_view content_type);
// Whether bytes that begin like this might be taken for such a type whatever they are called.
bool LooksActive(std::string_view first_bytes);
inline constexpr size_t kSniffedBytes = 512;

// Types that a browser may show in place without harm.
bool IsShownInPlace(std::string_view content_type);

}  // namespace agent_graph::media
