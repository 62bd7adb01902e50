#include "multipart/part_head.h"

#include <utility>

#include "base/letter_case.h"
#include "base/percent_encoding.h"
#include "base/text.h"

namespace agent_graph::multipart {
namespace {

constexpr size_t kBoundaryBytesMax = 70;  // RFC 2046, 5.1.1
constexpr std::string_view kBoundaryMarks = "'()+_,-./:=? ";

bool IsAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Reads the quoted string that `text` begins with and removes it from `text`. Returns nullopt if
// the closing quote is missing. A backslash escapes only a quote or a backslash: some browsers send
// Windows paths unescaped.
std::optional<std::string> TakeQuoted(std::string_view& text) {
  std::string out;
  text.remove_prefix(1);
  while (!text.empty() && text[0] != '"') {
    bool escape = text[0] == '\\' && text.size() > 1 && (text[1] == '"' || text[1] == '\\');
    if (escape) text.remove_prefix(1);
    out.push_back(text[0]);
    text.remove_prefix(1);
  }
  if (text.empty()) return std::nullopt;
  text.remove_prefix(1);
  return out;
}

// Decodes an extended value such as UTF-8''na%C3%AFve.txt (RFC 8187). Some clients send names with
// characters outside ASCII in this form.
std::optional<std::string> ExtendedValue(std::string_view text) {
  size_t charset = text.find('\'');
  size_t language = charset == std::string_view::npos ? charset : text.find('\'', charset + 1);
  if (language == std::string_view::npos) return std::nullopt;
  if (!EqualsIgnoringCase(text.substr(0, charset), "utf-8")) return std::nullopt;
  return PercentDecodeLeniently(text.substr(language + 1));
}

Status Fault(const char* text) {
  return Status(StatusCode::kInvalidArgument, text);
}

Status ReadDisposition(std::string_view value, size_t name_bytes_max, Part& part) {
  if (!EqualsIgnoringCase(Trim(value.substr(0, value.find(';'))), "form-data")) {
    return Fault("a part is not form-data");
  }
  AG_ASSIGN_OR_RETURN(const Parameters parameters, ParseParameters(value));
  std::optional<std::string> name = FindParameter(parameters, "name");
  if (!name) return Fault("a part has no name");
  part.name = *std::move(name);
  part.filename = FindParameter(parameters, "filename");
  if (std::optional<std::string> extended = FindParameter(parameters, "filename*")) {
    if (std::optional<std::string> decoded = ExtendedValue(*extended)) part.filename = decoded;
  }
  if (part.name.size() > name_bytes_max ||
      (part.filename && part.filename->size() > name_bytes_max)) {
    return Fault("the name of a part is too long");
  }
  return Status::Ok();
}

}  // namespace

Result<Parameters> ParseParameters(std::string_view value) {
  Parameters parameters;
  size_t semicolon = value.find(';');
  while (semicolon != std::string_view::npos) {
    value.remove_prefix(semicolon + 1);
    size_t end = value.find_first_of("=;");
    if (end == std::string_view::npos) break;
    semicolon = end;
    if (value[end] == ';') continue;
    std::string key(Trim(value.substr(0, end)));
    value.remove_prefix(end + 1);
    size_t first = value.find_first_not_of(" \t");
    value.remove_prefix(first == std::string_view::npos ? value.size() : first);
    if (value.starts_with('"')) {
      std::optional<std::string> text = TakeQuoted(value);
      if (!text) return Fault("a quoted parameter has no closing quote");
      semicolon = value.find(';');
      if (!Trim(value.substr(0, semicolon)).empty()) {
        return Fault("a quoted parameter is followed by other text");
      }
      parameters.emplace_back(std::move(key), *std::move(text));
    } else {
      semicolon = value.find(';');
      parameters.emplace_back(std::move(key), Trim(value.substr(0, semicolon)));
    }
  }
  return parameters;
}

std::optional<std::string> FindParameter(const Parameters& parameters, std::string_view name) {
  for (const auto& [key, text] : parameters) {
    if (EqualsIgnoringCase(key, name)) return text;
  }
  return std::nullopt;
}

std::optional<std::string> BoundaryOf(std::string_view content_type) {
  if (!EqualsIgnoringCase(Trim(content_type.substr(0, content_type.find(';'))),
                          "multipart/form-data")) {
    return std::nullopt;
  }
  Result<Parameters> parameters = ParseParameters(content_type);
  if (!parameters.ok()) return std::nullopt;
  std::optional<std::string> boundary = FindParameter(*parameters, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > kBoundaryBytesMax) return std::nullopt;
  for (char c : *boundary) {
    if (!IsAlphanumeric(c) && kBoundaryMarks.find(c) == std::string_view::npos) {
      return std::nullopt;
    }
  }
  if (boundary->back() == ' ') return std::nullopt;
  return boundary;
}

Result<Part> ParsePartHead(std::string_view head, size_t name_bytes_max) {
  Part part;
  bool disposed = false;
  while (!head.empty()) {
    size_t end = head.find("\r\n");
    std::string_view line = head.substr(0, end);
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 2);
    size_t colon = line.find(':');
    if (colon == std::string_view::npos) return Fault("a part has a malformed header field");
    if (line.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
      return Fault("a part has a malformed header field");
    }
    std::string_view name = Trim(line.substr(0, colon));
    std::string_view value = Trim(line.substr(colon + 1));
    if (EqualsIgnoringCase(name, "content-disposition")) {
      if (std::exchange(disposed, true)) return Fault("a part has two dispositions");
      AG_RETURN_IF_ERROR(ReadDisposition(value, name_bytes_max, part));
    } else if (EqualsIgnoringCase(name, "content-type")) {
      part.content_type = value;
    }
  }
  if (!disposed) return Fault("a part has no disposition");
  return part;
}

}  // namespace agent_graph::multipart
