#include "state/leveldb/files/names.h"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace agent_graph::state {
namespace {

constexpr std::string_view kManifestPrefix = "MANIFEST-";

bool ParseNumber(std::string_view text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::string Padded(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "%06llu", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace

FileName ParseFileName(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  FileName file;
  if (name.starts_with(kManifestPrefix)) {
    if (ParseNumber(name.substr(kManifestPrefix.size()), file.number)) {
      file.kind = FileKind::kManifest;
    }
    return file;
  }
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || !ParseNumber(name.substr(0, dot), file.number)) return file;
  const std::string_view suffix = name.substr(dot);
  if (suffix == ".log") file.kind = FileKind::kLog;
  if (suffix == ".ldb" || suffix == ".sst") file.kind = FileKind::kTable;
  return file;
}

std::string LogName(uint64_t number) {
  return Padded(number) + ".log";
}

std::string ManifestName(uint64_t number) {
  return std::string(kManifestPrefix) + Padded(number);
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
}

}  // namespace agent_graph::state
