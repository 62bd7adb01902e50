#include "state/search/index_files.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace agent_graph::state {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSealSuffix = ".seal";
constexpr std::string_view kOwnerPrefix = "owner ";
constexpr char kAllOwners[] = "all";

// The scope of the index with this seal; nullopt: not known. The space of the vectors may contain
// spaces, and so may the id of an owner: the name of the file shows where the one ends.
std::optional<Scope> ScopeOf(const Seal& seal, const std::string& directory,
                             const std::string& file) {
  for (size_t end = seal.space.rfind(' '); end != std::string::npos && end > 0;
       end = seal.space.rfind(' ', end - 1)) {
    const std::string name = seal.space.substr(0, end);
    if (IndexFileOf(directory, name) != file) continue;
    if (name == kAllOwners) return Scope::All();
    if (name.starts_with(kOwnerPrefix)) return Scope::Owner(name.substr(kOwnerPrefix.size()));
  }
  return std::nullopt;
}

// True also if that cannot be found out.
bool HasMemories(const MemoryRows& rows, const Scope& scope) {
  bool found = false;
  const Status read =
      rows.Snapshot()->ForEachRecord(scope, [&](const MemoryKey&, const MemoryRecord&) {
        found = true;
        return Status(StatusCode::kCancelled, "one is enough");
      });
  return found || !read.ok();
}

}  // namespace

std::string SealOf(const std::string& file) {
  return file + std::string(kSealSuffix);
}

std::optional<Seal> ReadSeal(const std::string& file) {
  std::ifstream in(SealOf(file), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  Seal seal;
  if (!in || !pack::FromBytes(bytes, seal)) return std::nullopt;
  return seal;
}

std::string IndexNameOf(const std::optional<std::string>& owner) {
  return owner ? std::string(kOwnerPrefix) + *owner : kAllOwners;
}

std::string IndexFileOf(const std::string& directory, const std::string& name) {
  // The hash may collide: the name stored in the file is compared on loading, and colliding files
  // overwrite each other.
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return directory + "/" + text;
}

void RemoveUnusedIndexes(const MemoryRows& rows, const std::string& directory,
                         const std::atomic<bool>& stopping) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    if (path.ends_with(kSealSuffix)) files.push_back(path.substr(0, path.rfind('.')));
  }
  for (const std::string& file : files) {
    if (stopping) return;
    const std::optional<Seal> seal = ReadSeal(file);
    const std::optional<Scope> scope = seal ? ScopeOf(*seal, directory, file) : std::nullopt;
    if (!scope || HasMemories(rows, *scope)) continue;
    // The seal last: while there is one, the next start tries again.
    fs::remove(file, error);
    if (!error) fs::remove(SealOf(file), error);
  }
}

}  // namespace agent_graph::state
