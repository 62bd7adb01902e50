#include "media/mime.h"

#include <algorithm>
#include <array>

#include "base/letter_case.h"

namespace agent_graph::media {
namespace {

constexpr size_t kTypeBytesMax = 128;

struct Extension {
  std::string_view extension;
  std::string_view type;
};
constexpr auto kExtensions = std::to_array<Extension>({
    {"7z", "application/x-7z-compressed"},
    {"aac", "audio/aac"},
    {"avi", "video/x-msvideo"},
    {"avif", "image/avif"},
    {"bmp", "image/bmp"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"doc", "application/msword"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"epub", "application/epub+zip"},
    {"flac", "audio/flac"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"heic", "image/heic"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"ico", "image/x-icon"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript"},
    {"json", "application/json"},
    {"m4a", "audio/mp4"},
    {"md", "text/markdown"},
    {"mov", "video/quicktime"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"mpeg", "video/mpeg"},
    {"odp", "application/vnd.oasis.opendocument.presentation"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"oga", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"ogv", "video/ogg"},
    {"opus", "audio/opus"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"ppt", "application/vnd.ms-powerpoint"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"rtf", "application/rtf"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"txt", "text/plain"},
    {"wav", "audio/wav"},
    {"webm", "video/webm"},
    {"webp", "image/webp"},
    {"xhtml", "application/xhtml+xml"},
    {"xls", "application/vnd.ms-excel"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
});

bool IsTypeCharacter(char c) {
  constexpr std::string_view kMarks = "!#$&^_.+-";
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         kMarks.find(c) != std::string_view::npos;
}

}  // namespace

std::string Essence(std::string_view content_type) {
  // A browser uses the last type of a list, whatever the position of the commas.
  if (content_type.find(',') != std::string_view::npos) return {};
  std::string type = LowerCase(content_type.substr(0, content_type.find(';')));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.pop_back();
  size_t slash = type.find('/');
  bool whole = slash != std::string::npos && slash > 0 && slash + 1 < type.size() &&
               type.size() <= kTypeBytesMax;
  if (!whole) return {};
  auto valid = [](std::string_view part) { return std::ranges::all_of(part, IsTypeCharacter); };
  std::string_view view = type;
  if (!valid(view.substr(0, slash)) || !valid(view.substr(slash + 1))) return {};
  return type;
}

std::string TypeOfName(std::string_view filename) {
  size_t dot = filename.rfind('.');
  if (dot != std::string_view::npos) {
    std::string extension = LowerCase(filename.substr(dot + 1));
    const auto* found = std::ranges::find(kExtensions, extension, &Extension::extension);
    if (found != kExtensions.end()) return std::string(found->type);
  }
  return "application/octet-stream";
}

bool IsAllowed(std::string_view content_type, std::span<const std::string> allowed) {
  if (allowed.empty()) return true;
  std::string type = Essence(content_type);
  return std::ranges::any_of(allowed, [&](const std::string& pattern) {
    if (pattern == "*/*" || pattern == type) return true;
    return pattern.ends_with("/*") &&
           type.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
  });
}

bool IsActiveType(std::string_view content_type) {
  std::string type = Essence(content_type);
  return type == "text/html" || type == "text/xml" || type == "text/css" || type == "text/vtt" ||
         type == "application/xml" || type.ends_with("+xml") ||
         type.find("script") != std::string::npos || type == "application/wasm" ||
         type == "multipart/related" || type == "message/rfc822" ||
         type == "application/x-shockwave-flash";
}

bool LooksActive(std::string_view first_bytes) {
  if (first_bytes.starts_with("\xef\xbb\xbf")) first_bytes.remove_prefix(3);
  size_t start = first_bytes.find_first_not_of(std::string_view(" \t\r\n\f\0", 6));
  if (start == std::string_view::npos || first_bytes[start] != '<') return false;
  first_bytes.remove_prefix(start + 1);
  if (first_bytes.empty()) return true;
  char next = first_bytes[0];
  return next == '!' || next == '?' || next == '/' || (next >= 'a' && next <= 'z') ||
         (next >= 'A' && next <= 'Z');
}

bool IsShownInPlace(std::string_view content_type) {
  std::string type = Essence(content_type);
  if (IsActiveType(type)) return false;
  return type.starts_with("image/") || type.starts_with("audio/") || type.starts_with("video/") ||
         type == "text/plain";
}

}  // namespace agent_graph::media
