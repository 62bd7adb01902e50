#include "base/elf_libraries.h"

#include <elf.h>

#include <bit>
#include <cstring>
#include <optional>

namespace agent_graph {
namespace {

constexpr unsigned char kByteOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

// Copies a T out of the text: the structures of a damaged file may be unaligned.
template <typename T>
std::optional<T> ReadAt(std::string_view text, uint64_t offset) {
  if (offset > text.size() || text.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, text.data() + offset, sizeof value);
  return value;
}

std::vector<Elf64_Phdr> ReadSegments(std::string_view content) {
  std::vector<Elf64_Phdr> segments;
  const auto header = ReadAt<Elf64_Ehdr>(content, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != kByteOrder) {
    return segments;
  }
  for (uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = ReadAt<Elf64_Phdr>(content, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return {};
    segments.push_back(*segment);
  }
  return segments;
}

// The content from a virtual address to the end of its segment.
std::string_view AtAddress(std::string_view content, const std::vector<Elf64_Phdr>& segments,
                           uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t inside = address - segment.p_vaddr;
    if (inside >= segment.p_filesz || segment.p_offset > content.size()) continue;
    const std::string_view loaded = content.substr(segment.p_offset, segment.p_filesz);
    return inside < loaded.size() ? loaded.substr(inside) : std::string_view();
  }
  return {};
}

std::vector<Elf64_Dyn> ReadDynamic(std::string_view content,
                                   const std::vector<Elf64_Phdr>& segments) {
  std::vector<Elf64_Dyn> entries;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC || segment.p_offset > content.size()) continue;
    const std::string_view text = content.substr(segment.p_offset, segment.p_filesz);
    for (uint64_t offset = 0;; offset += sizeof(Elf64_Dyn)) {
      const auto entry = ReadAt<Elf64_Dyn>(text, offset);
      if (!entry || entry->d_tag == DT_NULL) return entries;
      entries.push_back(*entry);
    }
  }
  return entries;
}

std::string TextAt(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) return "";
  const std::string_view text = table.substr(offset);
  return std::string(text.substr(0, text.find('\0')));
}

std::vector<std::string> SplitAtColons(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(':'), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

ElfLibraries ReadElfLibraries(std::string_view content) {
  ElfLibraries libraries;
  const std::vector<Elf64_Phdr> segments = ReadSegments(content);
  const std::vector<Elf64_Dyn> entries = ReadDynamic(content, segments);
  std::string_view texts;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_STRTAB) texts = AtAddress(content, segments, entry.d_un.d_ptr);
  }
  std::string run_path;
  std::string old_path;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_RUNPATH) run_path = TextAt(texts, entry.d_un.d_val);
    if (entry.d_tag == DT_RPATH) old_path = TextAt(texts, entry.d_un.d_val);
    if (entry.d_tag != DT_NEEDED) continue;
    if (std::string name = TextAt(texts, entry.d_un.d_val); !name.empty()) {
      libraries.names.push_back(std::move(name));
    }
  }
  libraries.folders = SplitAtColons(run_path.empty() ? old_path : run_path);
  return libraries;
}

std::string ExpandOrigin(std::string_view folder, std::string_view origin) {
  std::string expanded;
  bool found = false;
  while (!folder.empty()) {
    const size_t plain = std::min(folder.find('$'), folder.size());
    expanded += folder.substr(0, plain);
    folder.remove_prefix(plain);
    if (folder.empty()) break;
    const std::string_view name = folder.starts_with("${ORIGIN}") ? "${ORIGIN}" : "$ORIGIN";
    if (!folder.starts_with(name)) return "";
    folder.remove_prefix(name.size());
    expanded += origin;
    found = true;
  }
  return found ? expanded : "";
}

}  // namespace agent_graph
