#include "settings/environment.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/environment.h"
#include "base/errno_text.h"
#include "base/text.h"

namespace agent_graph::settings {
namespace {

constexpr std::string_view kBlanks = " \t\r";

// Removes quotes. In a value without quotes, " #" starts a comment.
std::string_view Unquote(std::string_view value) {
  if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'')) {
    size_t end = value.find(value[0], 1);
    if (end != std::string_view::npos) return value.substr(1, end - 1);
  }
  if (size_t comment = value.find(" #"); comment != std::string_view::npos) {
    value = Trim(value.substr(0, comment), kBlanks);
  }
  return value;
}

}  // namespace

Status MergeEnvironmentText(std::string_view text, Environment& environment) {
  for (int number = 1; !text.empty(); ++number) {
    size_t end = text.find('\n');
    std::string_view line = Trim(text.substr(0, end), kBlanks);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("export ")) line = Trim(line.substr(7), kBlanks);
    size_t equals = line.find('=');
    if (equals == std::string_view::npos ||
        !IsVariableName(Trim(line.substr(0, equals), kBlanks))) {
      return InvalidArgument("line " + std::to_string(number) + " is not KEY=VALUE");
    }
    environment[std::string(Trim(line.substr(0, equals), kBlanks))] =
        std::string(Unquote(Trim(line.substr(equals + 1), kBlanks)));
  }
  return Status::Ok();
}

Status MergeEnvironmentFile(const std::string& path, Environment& environment) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidArgument("cannot read " + path + ": " + ErrnoText(errno));
  std::string text(kEnvironmentFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (file.fail() && !file.eof())) {
    const bool is_folder = std::filesystem::is_directory(path);
    return InvalidArgument("cannot read " + path + (is_folder ? ": it is a folder" : ""));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kEnvironmentFileBytesMax) {
    return InvalidArgument(path + " is larger than " + std::to_string(kEnvironmentFileBytesMax) +
                           " bytes");
  }
  Status merged = MergeEnvironmentText(text, environment);
  if (!merged.ok()) return InvalidArgument(path + ": " + merged.message());
  return merged;
}

}  // namespace agent_graph::settings
