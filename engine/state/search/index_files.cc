#include "state/search/index_files.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace agent_graph::state {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSealSuffix = ".seal";
constexpr std::string_view kDraftSuffix = ".draft";
constexpr size_t kNameLength = 16;  // see IndexFileOf
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

// True for the names of an index, its seal and their drafts.
bool IsNameOfIndex(const std::string& file_name) {
  const std::string name = file_name.substr(0, kNameLength);
  return name.size() == kNameLength &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos &&
         (file_name == name || file_name == SealOf(name) || file_name == DraftOf(name) ||
          file_name == DraftOf(SealOf(name)));
}

// The paths of indexes, seals and drafts. Leaves out all but regular files: opening a pipe blocks.
std::set<std::string> IndexFilesIn(const std::string& directory) {
  std::set<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    const std::string name = entry->path().filename().string();
    if (!IsNameOfIndex(name) || !fs::is_regular_file(entry->symlink_status(unknown))) continue;
    files.insert(directory + "/" + name);
  }
  return files;
}

}  // namespace

std::string DraftOf(const std::string& file) {
  return file + std::string(kDraftSuffix);
}

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
  char text[kNameLength + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return directory + "/" + text;
}

void RemoveUnusedIndexes(const MemoryRows& rows, const std::string& directory,
                         const std::atomic<bool>& stopping) {
  const std::set<std::string> files = IndexFilesIn(directory);
  std::set<std::string> indexes;
  for (const std::string& file : files) {
    indexes.insert(directory + "/" + fs::path(file).filename().string().substr(0, kNameLength));
  }
  for (const std::string& index : indexes) {
    if (stopping) return;
    const auto remove = [&](const std::string& file) {
      std::error_code error;
      if (files.contains(file)) fs::remove(file, error);
      return !error;
    };
    remove(DraftOf(index));
    remove(DraftOf(SealOf(index)));
    const std::optional<Seal> seal = files.contains(SealOf(index)) ? ReadSeal(index) : std::nullopt;
    if (seal) {
      const std::optional<Scope> scope = ScopeOf(*seal, directory, index);
      if (!scope || HasMemories(rows, *scope)) continue;
    }
    // The seal last: while there is one, the next start tries again.
    if (remove(index)) remove(SealOf(index));
  }
}

}  // namespace agent_graph::state
