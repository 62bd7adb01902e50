// MIME types of files: derived from a name, checked against a list, safe or unsafe in a browser.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace agent_graph::media {

// "image/PNG; x=y" → "image/png"; empty if it is no type or more than one.
std::string Essence(std::string_view content_type);

// The type of the extension; application/octet-stream if it is unknown.
std::string TypeOfName(std::string_view filename);

// True if `allowed` contains the type. Its entries are "image/png", "image/*" or "*/*", in lower
// case; an empty list allows every type.
bool IsAllowed(std::string_view content_type, std::span<const std::string> allowed);

// Types that browsers execute: pages, vector images, scripts.
bool IsActiveType(std::string_view content_type);
// True if content sniffing could yield an active type, regardless of the declared one.
bool LooksActive(std::string_view first_bytes);
inline constexpr size_t kSniffedBytes = 512;

// Types that a browser may show inline without risk.
bool IsShownInPlace(std::string_view content_type);

}  // namespace agent_graph::media
