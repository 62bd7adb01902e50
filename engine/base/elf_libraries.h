// The shared libraries that an ELF file needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace agent_graph {

struct ElfLibraries {
  std::vector<std::string> names;    // DT_NEEDED
  std::vector<std::string> folders;  // where the dynamic linker searches: DT_RUNPATH, else DT_RPATH
};

// Reads a 64-bit file of this machine's byte order. Both lists are empty for any other content,
// also for a damaged file: the dynamic linker explains what is wrong with it.
ElfLibraries ReadElfLibraries(std::string_view content);

// `folder` with $ORIGIN replaced. Empty if it does not name $ORIGIN, or names another variable.
std::string ExpandOrigin(std::string_view folder, std::string_view origin);

}  // namespace agent_graph
